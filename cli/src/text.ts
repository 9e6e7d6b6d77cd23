import { printable } from '@holdpoint/contracts';

/** Text of a stranger as lines of its own, each behind a bar that it cannot get past. JSON stays as it was written. */
export const block = (text: string, as: { json?: boolean } = {}): string[] =>
  printable(text, { newlines: true, ...as })
    .split('\n')
    .map((line) => `  │ ${line}`);

/** A field and its value; further lines of the value stand further in, so that none can pass for a field. */
export function field(path: string, value: string): string[] {
  const [first = '', ...rest] = printable(value, { newlines: true }).split('\n');
  return [`  │ ${printable(path)}: ${first}`, ...rest.map((line) => `  │     ${line}`)];
}

/** Text of a stranger within a line of ours: escaped, and cut where it grows too long for its place. */
export function inline(text: string, most = 60): string {
  const safe = printable(text);
  return safe.length <= most ? safe : `${safe.slice(0, most - 1)}…`;
}

/** A line in as many as it takes, each further one behind a mark. Whatever is not ASCII is taken for two columns wide. */
export function wrapped(line: string, columns: number): string[] {
  const lines = [''];
  let left = Math.max(columns, 20);
  for (const ch of line) {
    const width = ch > '~' ? 2 : 1;
    if (width > left) {
      lines.push('  ┊ ');
      left = Math.max(columns, 20) - 5;
    }
    left -= width;
    lines[lines.length - 1] += ch;
  }
  return lines;
}

export const named = (c: { tool: string; action: string | null }): string =>
  inline(c.action === null ? c.tool : `${c.tool}.${c.action}`);

export const who = (p: { kind: string; id: string }): string =>
  p.kind === 'person' ? inline(p.id) : p.kind === 'service' ? `service ${inline(p.id)}` : 'someone unknown';

/** A time span in the two largest units that count. */
export function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

/** Rows as columns under their headings. The cells must be safe already. */
export function table(headings: string[], rows: string[][]): string[] {
  const widths = headings.map((h, i) => Math.max(h.length, ...rows.map((r) => r[i]?.length ?? 0)));
  return [headings, ...rows].map((r) =>
    r
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Label and text in two columns. */
export function facts(rows: [label: string, text: string][]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, text]) => `  ${label.padEnd(width)} ${text}`);
}
