import type { CallPreview, CallPreviewView } from '@holdpoint/contracts';
import { block, field, inline } from './text.js';

/** What a held call would change, for the terminal. Every word of it is a stranger's, and marked as such. */
export function previewed(view: CallPreviewView | null): string[] {
  if (view === null) return ['  No preview: the engine does not answer. Decide by the exact arguments above.'];
  if (view.preview === null) return [`  No preview. ${inline(view.note ?? '', 300)}`];
  const note = view.preview.note === undefined ? [] : [`  Note: ${inline(view.preview.note, 300)}`];
  return [
    `  What it would change, as the tool saw things at ${view.at}; what runs are the exact arguments above:`,
    ...linesOf(view.preview),
    ...note,
  ];
}

function linesOf(p: CallPreview): string[] {
  switch (p.kind) {
    case 'mail':
      return [
        ...field('From', p.from),
        ...field('To', p.to.join(', ')),
        ...(p.cc.length === 0 ? [] : field('Cc', p.cc.join(', '))),
        ...(p.bcc === undefined ? [] : field('Bcc', p.bcc.join(', '))),
        ...field('Subject', p.subject),
        '  │',
        ...block(p.body),
      ];
    case 'message':
      return [...field('To', p.to), '  │', ...block(p.text)];
    case 'file':
      return [...field('File', p.path), ...fileState('now', p.before), ...fileState('then', p.after)];
    case 'row':
      return [
        ...field('Table', p.table),
        ...(p.before === null ? ['  │ There is no such row now.'] : []),
        ...Object.entries(p.after).flatMap(([column, then]) => change(column, p.before, then)),
      ];
    case 'facts':
      return p.facts.flatMap(({ label, value }) => field(label, value));
  }
}

type File = Extract<CallPreview, { kind: 'file' }>['before'];

function fileState(when: string, file: File): string[] {
  if (file === null) return [`  │ ${when}: there is no such file`];
  const text = file.text === null ? [] : block(file.text).map((line) => `  ${line}`);
  const cut = file.cut ? ['  │   … and more'] : [];
  return [`  │ ${when}: ${file.bytes} bytes${file.text === null ? ', no text' : ''}`, ...text, ...cut];
}

function change(column: string, before: Record<string, string | null> | null, then: string | null): string[] {
  const spelt = (value: string | null | undefined) => (value == null ? 'NULL' : value);
  const was = before !== null && Object.hasOwn(before, column) ? before[column] : undefined;
  if (before === null || was === then) return field(column, spelt(then));
  return [...field(`${column}, now`, spelt(was)), ...field(`${column}, then`, spelt(then))];
}
