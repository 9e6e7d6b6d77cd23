import { type StreamReply, sendEventStream } from '@holdpoint/runtime';
import type { Progress, Told } from '../run/progress.js';

const HEARTBEAT_MS = 15_000;

/** Whether a client asks for server-sent events. */
export const wantsEvents = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((type) => type.split(';')[0]?.trim().toLowerCase() === 'text/event-stream');

/** Sends a run's progress as server-sent events: `id`, `event` and one line of JSON as `data`; a comment as heartbeat. */
export const sendEvents = (reply: StreamReply, progress: Progress, runId: string): void =>
  sendEventStream(reply, (gone) => lines(progress.follow(runId, gone)), { name: `run ${runId}` });

/** @param heartbeatMs how long a client may hear nothing */
export async function* lines(events: AsyncIterable<Told | null>, heartbeatMs = HEARTBEAT_MS): AsyncGenerator<string> {
  let quietSince = performance.now();
  for await (const event of events) {
    if (event === null && performance.now() - quietSince < heartbeatMs) continue;
    quietSince = performance.now();
    if (event === null) yield ': still here\n\n';
    else {
      const { id, ...data } = event;
      yield `id: ${id}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
    }
  }
}
