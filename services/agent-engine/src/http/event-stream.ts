import { Refusal, type StreamReply, sendEventStream } from '@holdpoint/runtime';
import type { Progress, Told } from '../run/progress.js';

const HEARTBEAT_MS = 15_000;

/** Whether a client asks for server-sent events. */
export const wantsEvents = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((type) => type.split(';')[0]?.trim().toLowerCase() === 'text/event-stream');

/**
 * Sends a run's progress as server-sent events: `id`, `event` and one line of JSON as `data`; a comment as heartbeat.
 * @param allowed asked before each event and heartbeat; a Refusal ends the stream
 */
export const sendEvents = (reply: StreamReply, progress: Progress, runId: string, allowed: () => Promise<void>): void =>
  sendEventStream(reply, (gone) => lines(progress.follow(runId, gone), allowed), { name: `run ${runId}` });

/** @param heartbeatMs how long a client may hear nothing */
export async function* lines(
  events: AsyncIterable<Told | null>,
  allowed: () => Promise<void>,
  heartbeatMs = HEARTBEAT_MS,
): AsyncGenerator<string> {
  let quietSince = performance.now();
  try {
    for await (const event of events) {
      if (event === null && performance.now() - quietSince < heartbeatMs) continue;
      quietSince = performance.now();
      await allowed();
      if (event === null) yield ': still here\n\n';
      else {
        const { id, ...data } = event;
        yield `id: ${id}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
      }
    }
  } catch (error) {
    // The token or the membership is gone, or cannot be known: whoever comes back is told so.
    if (!(error instanceof Refusal)) throw error;
  }
}
