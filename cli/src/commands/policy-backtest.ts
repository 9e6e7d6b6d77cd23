import { type BacktestProgress, backtestProgress } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { draftIn } from '../draft.js';
import { failed, misused } from '../failure.js';
import { document, say } from '../output.js';
import { sinceOf } from '../since.js';
import { spaceOf } from '../spaces-of.js';
import { inline, named, table } from '../text.js';

export interface BacktestOptions {
  json?: boolean;
  space?: string;
  since?: string;
  limit?: string;
  samples?: string;
}

type Done = Extract<BacktestProgress, { type: 'done' }>;

/** Holds rules against the calls of the past. @throws Failure when the answer breaks off: half of it is no answer */
export async function backtest(client: Client, file: string, o: BacktestOptions): Promise<number> {
  const asked = {
    ...(o.since !== undefined && { since: sinceOf(o.since) }),
    ...(o.limit !== undefined && { limit: wholeOf('--limit', o.limit) }),
    ...(o.samples !== undefined && { samples: wholeOf('--samples', o.samples) }),
    ...(await draftIn(file)),
  };
  const spaceId = await spaceOf(client, o.space);
  const progress = !o.json && process.stderr.isTTY === true;
  let done: Done | undefined;
  for await (const { told } of client.follow('policy', '/v1/policy/backtest', backtestProgress, '', {
    spaceId,
    ...asked,
  })) {
    if (told?.type === 'progress' && progress) process.stderr.write(`\r${told.judged} calls, ${told.changed} change`);
    if (told?.type === 'broken') throw failed('cli.backtest-broken', told.detail);
    if (told?.type === 'done') done = told;
  }
  if (progress) process.stderr.write('\r\x1b[K');
  if (done === undefined)
    throw failed('cli.backtest-broken', 'policy broke off before it was done, so nothing is said. Try again.');
  if (o.json) document(done);
  else say(...described(done));
  return 0;
}

function wholeOf(option: string, text: string): number {
  if (!/^\d{1,8}$/.test(text)) throw misused(`${option} is a whole number.`);
  return Number(text);
}

function described({ judged, changed, withoutFacts, unreadable, before, after, changes, unlisted }: Done): string[] {
  const lines = [
    `${judged} calls were judged again: ${changed} would have got another verdict.`,
    ...table(
      ['  VERDICT', 'THEN', 'BY THESE RULES'],
      (['auto', 'approve', 'deny'] as const).map((v) => [`  ${v}`, String(before[v] ?? 0), String(after[v] ?? 0)]),
    ),
  ];
  if (withoutFacts > 0) lines.push(`${withoutFacts} calls were left out: what they were judged by was not kept.`);
  if (unreadable > 0) lines.push(`${unreadable} of them could not be read then, and count as unreadable now.`);
  if (changes.length === 0) return lines;
  lines.push(
    '',
    ...table(
      ['CALLS OF', 'CALLS', 'THEN', 'NOW', 'SUCH AS'],
      changes.map((c) => [
        `${c.server === 'builtin' ? '' : `${inline(c.server, 40)}/`}${named(c)}`,
        String(c.calls),
        c.from,
        c.to,
        c.samples.join(' '),
      ]),
    ),
  );
  if (unlisted > 0) lines.push(`and ${unlisted} calls of other tools`);
  return lines;
}
