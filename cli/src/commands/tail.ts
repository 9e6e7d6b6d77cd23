import { setTimeout as pause } from 'node:timers/promises';
import { catalogue, type EventType, type ToldEvent, toldEvent } from '@holdpoint/contracts';
import { type Client, queryString } from '../client.js';
import { Failure, misused } from '../failure.js';
import { documentLine, note, say } from '../output.js';
import { idOf, parseId } from '../refs.js';
import { inline } from '../text.js';

export interface TailOptions {
  json?: boolean;
  space?: string;
  type?: string;
  call?: string;
  run?: string;
  since?: string;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Follows the events of the log, as metadata, and takes up the thread wherever a connection broke. Ends by the person who
 * started it, or when the service refuses. @throws Failure
 */
export async function tail(client: Client, o: TailOptions): Promise<number> {
  if (o.since !== undefined && !/^\d{1,15}$/.test(o.since))
    throw misused('--since is a number of the stream, such as 0.');
  const call = o.call === undefined ? undefined : await idOf(client, o.call);
  const run = o.run === undefined ? undefined : parseId(o.run);
  const path = `/v1/events${queryString({ space: o.space, type: o.type, call, run, since: o.since })}`;
  let from: string | undefined;
  for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
    try {
      for await (const { lastId, told } of client.follow('audit', path, toldEvent, from)) {
        from = lastId;
        ms = FIRST_PAUSE_MS;
        if (told !== null) tell(told, o.json === true);
      }
    } catch (error) {
      // Before it ever told anything, and where it means no: there is nothing to come back to.
      if (from === undefined || !(error instanceof Failure) || error.problem.status < 500) throw error;
    }
    if (!o.json) note(`audit tells no more; asking again from ${from ?? 'here'}`);
    await pause(ms);
  }
}

function tell(told: ToldEvent, json: boolean): void {
  if (json) documentLine(told);
  else say(line(told));
}

function line({ seq, words, event }: ToldEvent): string {
  const entity = Object.hasOwn(catalogue, event.type) ? catalogue[event.type as EventType].entity : 'entity';
  const of = `${event.spaceid} ${entity} …${event.subject.slice(-6)}`;
  return `${String(seq).padStart(7)}  ${event.time}  ${inline(event.type, 30).padEnd(17)} ${of.padEnd(24)} ${words}`;
}
