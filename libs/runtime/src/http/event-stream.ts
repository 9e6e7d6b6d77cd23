import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';

const PATIENCE_MS = 30_000;

/** What this needs of the web server's reply. */
export interface StreamReply {
  status(code: number): this;
  header(name: string, value: string): this;
  send(body: unknown): unknown;
}

export interface EventStreamOptions {
  /** Names the stream in a log line when it breaks. */
  name: string;
  /** How long a client may leave what is ready for it untaken. Default 30 s. */
  patienceMs?: number;
}

/** Sends blocks of server-sent events (WHATWG HTML, section 9.2); a client that was cut off goes on from the last id that it has. */
export const sendEventStream = (
  reply: StreamReply,
  blocks: (gone: AbortSignal) => AsyncIterable<string>,
  options: EventStreamOptions,
): void => sendStream(reply, blocks, { ...options, contentType: 'text/event-stream; charset=utf-8' });

/**
 * Sends text in portions as fast as the client takes them: the next one is only made when there is room. A client that
 * takes nothing for too long is cut off. One that goes away ends the stream and nothing else.
 */
export function sendStream(
  reply: StreamReply,
  blocks: (gone: AbortSignal) => AsyncIterable<string>,
  { name, contentType, patienceMs = PATIENCE_MS }: EventStreamOptions & { contentType: string },
): void {
  const log = new Logger('EventStream');
  const gone = new AbortController();
  const giveUp = () => {
    log.warn(`${name}: the client takes nothing; it is cut off and may come back`);
    body.destroy();
  };
  const body = Readable.from(taken(blocks(gone.signal), patienceMs, giveUp), { objectMode: false });
  const destroy = body._destroy.bind(body);
  // It waits for the block that is being made, which may take until something happens: that is told first.
  body._destroy = (error, callback) => {
    gone.abort();
    destroy(error, callback);
  };
  body.once('error', (error) => log.warn(`${name} can be followed no more: ${error.message}`));
  reply.status(200).header('content-type', contentType).header('x-accel-buffering', 'no').send(body);
}

async function* taken(blocks: AsyncIterable<string>, patienceMs: number, giveUp: () => void): AsyncGenerator<string> {
  for await (const block of blocks) {
    const timer = setTimeout(giveUp, patienceMs);
    try {
      yield block;
    } finally {
      clearTimeout(timer);
    }
  }
}
