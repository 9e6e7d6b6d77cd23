import {
  type ChainView,
  catalogue,
  chainView,
  checkSubject,
  explain,
  type HoldpointEvent,
  parseEvent,
} from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { Failure } from '../failure.js';
import { document, say } from '../output.js';
import { idOf } from '../refs.js';
import { inline } from '../text.js';

/** Prints a run or a call event by event, as the stream holds it. @returns 1 when the log disagrees with the stream */
export async function chain(client: Client, ref: string, o: { json?: boolean }): Promise<number> {
  const id = await idOf(client, ref);
  const view = await fetchChain(client, id);
  const events = view.events.map((e) => ({ ...e, read: read(e) }));
  const differ = events.filter((e) => e.log === 'different').length;
  const absent = events.filter((e) => e.log === 'absent').length;
  if (o.json)
    document({
      runId: view.runId,
      events: events.map(({ read: event, ...e }) => ({
        ...e,
        ...(event === null ? { event: null } : { event, words: explain(event) }),
      })),
    });
  else {
    say(...lines(events));
    say('', `${events.length} events of run ${inline(view.runId)}, read from the stream.`);
    if (differ > 0) say(`WARNING: the log holds other bytes than the stream for ${differ} of them.`);
    if (absent > 0) say(`${absent} of them have left the stream; those were read from the log.`);
    if (differ + absent === 0) say('The log holds the same bytes.');
  }
  return differ > 0 ? 1 : 0;
}

async function fetchChain(client: Client, id: string): Promise<ChainView> {
  try {
    return await client.get('audit', `/v1/runs/${id}/chain`, chainView);
  } catch (error) {
    if (!(error instanceof Failure && error.problem.status === 404)) throw error;
    return client.get('audit', `/v1/calls/${id}/chain`, chainView);
  }
}

type ChainEvent = ChainView['events'][number];

function read(e: ChainEvent): HoldpointEvent | null {
  try {
    const event = parseEvent(JSON.parse(Buffer.from(e.body, 'base64').toString('utf8')));
    checkSubject(event, e.subject);
    return event;
  } catch {
    return null;
  }
}

function lines(events: (ChainEvent & { read: HoldpointEvent | null })[]): string[] {
  const width = String(events.at(-1)?.seq ?? '').length;
  return events.map(({ seq, subject, log, read: event }) => {
    const mark = log === 'different' ? '!' : log === 'absent' ? '-' : ' ';
    const at = `${String(seq).padStart(width)}${mark} `;
    if (event === null) return `${at}${inline(subject, 200)}: not an event that this command can read`;
    const of = `${catalogue[event.type].entity} …${event.subject.slice(-6)}`;
    return `${at}${event.time}  ${event.type.padEnd(17)} ${of.padEnd(20)} ${explain(event)}`;
  });
}
