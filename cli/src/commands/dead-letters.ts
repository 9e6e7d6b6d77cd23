import { type DeadLetterView, deadLetterState, deadLetterView } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Client } from '../client.js';
import { Failure, misused } from '../failure.js';
import { advise, complain, document, say, TYPED } from '../output.js';
import type { Service } from '../settings.js';
import { inline, span, table } from '../text.js';

/** The services that keep dead letters. Audit keeps none: its log stops rather than pass anything over. */
const KEEPERS = ['engine', 'policy', 'staging', 'taskboard'] as const satisfies Service[];
type Keeper = (typeof KEEPERS)[number];

interface Options {
  json?: boolean;
  state?: string;
  all?: boolean;
}

/** Lists what the services could not handle, over all of them. Exits with 1 when one of them gives no answer. */
export async function deadLetters(client: Client, o: Options): Promise<number> {
  if (o.state !== undefined && !deadLetterState.safeParse(o.state).success)
    throw misused(`A dead letter is one of: ${deadLetterState.options.join(', ')}.`);
  const { items, failures } = await gather(client, o.state);
  if (o.json) document({ items });
  else if (items.length > 0) {
    const rows = items.map(({ from, letter: l }) => [
      from,
      l.id,
      l.type ?? inline(l.subject, 40),
      l.spaceId ?? '-',
      l.entityId ?? '-',
      String(l.seq),
      String(l.attempts),
      l.replayable ? l.state : `${l.state}, forged`,
      span(Date.now() - Date.parse(l.since)),
      inline(l.lastError, 80),
    ]);
    say(...table(['SERVICE', 'ID', 'TYPE', 'SPACE', 'ENTITY', 'SEQ', 'TRIES', 'STATE', 'SINCE', 'LAST ERROR'], rows));
    say('');
    advise(`Mend the cause, then:  ${TYPED} dead-letters replay <service> <id> | --all`);
  } else if (failures.length === 0) say(`There are no ${o.state ?? 'dead'} letters.`);
  for (const failure of failures) complain(failure.problem, o.json === true);
  return failures.length === 0 ? 0 : 1;
}

/** Has dead letters handled once more: one, or with `--all` every one that is dead, oldest first. */
export async function replay(
  client: Client,
  service: string | undefined,
  id: string | undefined,
  o: Options,
): Promise<number> {
  if ((o.all === true) === (service !== undefined)) throw misused('Name a service and an id, or type --all.');
  if (o.all !== true) {
    const from = keeper(service ?? '');
    if (id === undefined || !/^\d{1,15}$/.test(id)) throw misused('The id is the number that the list shows.');
    const done = await replayOne(client, from, id);
    if (o.json) document(done);
    else say(`Replayed: ${from} has handled letter ${id}.`);
    return 0;
  }
  const { items, failures } = await gather(client, 'dead');
  const results: object[] = [];
  let failed = failures.length;
  for (const { from, letter } of items.filter((i) => i.letter.replayable).reverse()) {
    const done = await replayOne(client, from, letter.id).catch((error: unknown) => {
      if (error instanceof Failure) return error;
      throw error;
    });
    if (done instanceof Failure) failed++;
    results.push(done instanceof Failure ? { service: from, id: letter.id, problem: done.problem } : done);
    if (!o.json)
      say(
        done instanceof Failure
          ? `${from} ${letter.id}: ${inline(done.problem.detail ?? done.problem.title, 400)}`
          : `${from} ${letter.id}: replayed`,
      );
  }
  if (o.json) document({ items: results });
  else if (results.length === 0 && failures.length === 0) say('There is nothing to replay.');
  for (const failure of failures) complain(failure.problem, o.json === true);
  return failed === 0 ? 0 : 1;
}

const replayOne = (client: Client, from: Keeper, id: string) =>
  client.post(from, `/v1/dead-letters/${id}/replay`, {}, z.looseObject({ id: z.string(), state: z.string() }));

async function gather(client: Client, state: string | undefined) {
  const items: { from: Keeper; letter: DeadLetterView }[] = [];
  const failures: Failure[] = [];
  for (const from of KEEPERS)
    try {
      const found = await client.all(from, '/v1/dead-letters', { state }, deadLetterView);
      items.push(...found.map((letter) => ({ from, letter })));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failures.push(error);
    }
  return { items, failures };
}

function keeper(text: string): Keeper {
  const found = KEEPERS.find((k) => k === text.replace(/^agent-/, ''));
  if (found === undefined) throw misused(`Dead letters are kept by: ${KEEPERS.join(', ')}.`);
  return found;
}
