import type { Consumer, JsMsg } from '@nats-io/jetstream';

/** Short, so that a server which lost the request is noticed within seconds. */
const REQUEST = { expires: 6_000, idle_heartbeat: 2_000 };

/**
 * The messages of one request, as they come in: ends when `max` have come, when the request has expired, or when aborted.
 * One request at a time, rather than the client's endless consumption: that goes on asking while nobody takes.
 * @throws when the server does not answer to the request, or the consumer is not there
 */
export async function* pull(consumer: Consumer, max: number, signal: AbortSignal): AsyncGenerator<JsMsg, void> {
  if (signal.aborted) return;
  const messages = await consumer.fetch({ max_messages: max, ...REQUEST });
  const stop = () => void messages.close();
  signal.addEventListener('abort', stop);
  try {
    for await (const message of messages) {
      yield message;
      // Between accounts the server takes an empty body for the end of its answer and sends no more to this request.
      if (message.data.length === 0) return;
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
