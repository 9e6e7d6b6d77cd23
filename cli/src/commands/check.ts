import { type CheckReport, StreamCheck } from '@holdpoint/contracts';
import { document, say } from '../output.js';
import type { Settings } from '../settings.js';
import { table } from '../text.js';

const PROGRESS_EVERY = 500;

/** Reads the stream alone and holds it against the rules. @returns 1 when anything was found */
export async function check(settings: Settings, o: { json?: boolean; settled?: boolean }): Promise<number> {
  // the bus's client and YAML are loaded by the commands that use them: every other one starts a third sooner
  const { readStream } = await import('../stream.js');
  const grammar = new StreamCheck();
  const progress = !o.json && process.stderr.isTTY === true;
  let last = 0;
  let read = 0;
  const messages = readStream(settings.nats, ({ lastSeq }) => {
    last = lastSeq;
  });
  for await (const m of messages) {
    grammar.add(m);
    if (progress && ++read % PROGRESS_EVERY === 0) process.stderr.write(`\rreading ${m.seq} of ${last}`);
  }
  if (progress) process.stderr.write('\r\x1b[K');
  const report = grammar.finish({ settled: o.settled === true });
  if (o.json) document(report);
  else say(...described(report));
  return report.violations.length === 0 ? 0 : 1;
}

/** A report for people. Every word of it is made from metadata that the grammar has validated. */
export function described({ violations, counts, open, firstSeq, lastSeq }: CheckReport): string[] {
  const { messages, ...rest } = counts;
  const counted = Object.entries(rest).filter(([, n]) => n > 0);
  const lines = [
    messages === 0 ? 'The stream is empty.' : `${messages} messages, sequences ${firstSeq} to ${lastSeq}.`,
    ...counted.map(([what, n]) => `  ${String(n).padStart(8)}  ${spaced(what)}`),
  ];
  if (firstSeq > 1) lines.push('', `What came before sequence ${firstSeq} has left the stream and was not checked.`);
  if (open.length > 0) {
    lines.push('', 'Not at an end:');
    lines.push(
      ...table(
        ['  WHAT', 'SPACE', 'STATE', 'SINCE'],
        open.map((o) => [`  ${o.entity}`, o.spaceId, o.state, String(o.seq)]),
      ),
    );
  }
  lines.push('');
  if (violations.length === 0) return [...lines, 'Every rule holds.'];
  lines.push(
    `${violations.length} times a rule is broken:`,
    ...table(
      ['  SEQ', 'RULE', 'WHAT', 'HOW'],
      violations.map((v) => [`  ${v.seq}`, v.code, v.entity, v.message]),
    ),
  );
  return lines;
}

const spaced = (key: string) => key.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`);
