import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { Progress, Told } from '../run/progress.js';

const HEARTBEAT_MS = 15_000;

/** What this needs of the web server's reply. */
export interface Reply {
  status(code: number): this;
  header(name: string, value: string): this;
  send(body: unknown): unknown;
}

/** Whether a client asks for server-sent events. */
export const wantsEvents = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((type) => type.split(';')[0]?.trim().toLowerCase() === 'text/event-stream');

/**
 * Sends a run's progress as server-sent events (WHATWG HTML, section 9.2): `id`, `event` and one line of JSON as `data`; a
 * comment as heartbeat. A client that goes away ends the stream and nothing else.
 */
export function sendEvents(reply: Reply, progress: Progress, runId: string): void {
  const gone = new AbortController();
  const body = Readable.from(lines(progress.follow(runId, gone.signal)), { objectMode: false });
  body.once('close', () => gone.abort());
  body.once('error', (error) => new Logger('Progress').warn(`run ${runId} can be watched no more: ${error.message}`));
  reply
    .status(200)
    .header('content-type', 'text/event-stream; charset=utf-8')
    .header('x-accel-buffering', 'no')
    .send(body);
}

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
