import { STREAM, type StreamMessage } from '@holdpoint/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { failed, notRunning } from './failure.js';
import type { Settings } from './settings.js';

/** The stream's API as the account that owns the stream exports it. */
const API_PREFIX = 'hub.API';
const IN_FLIGHT = 64;

export interface StreamRange {
  firstSeq: number;
  lastSeq: number;
}

/**
 * The whole stream, message by message from the bus itself and up to what is its end now, under an account that can do
 * nothing but read. A message that is not there is left out: the gap shows in the sequences.
 */
export async function* readStream(
  nats: Settings['nats'],
  onRange: (range: StreamRange) => void,
): AsyncGenerator<StreamMessage> {
  const nc = await open(nats);
  try {
    const manager = await jetstreamManager(nc, { apiPrefix: API_PREFIX, checkAPI: false });
    const { state } = await manager.streams.info(STREAM);
    onRange({ firstSeq: state.first_seq, lastSeq: state.last_seq });
    const ahead: Promise<StreamMessage | null>[] = [];
    let next = Math.max(1, state.first_seq);
    while (next <= state.last_seq || ahead.length > 0) {
      for (; next <= state.last_seq && ahead.length < IN_FLIGHT; next++) {
        const seq = next;
        const got = manager.direct
          .getMessage(STREAM, { seq })
          .then((m) => m && { seq, subject: m.subject, bytes: m.data });
        // it is awaited in its turn; until then a failure is not an unhandled one
        got.catch(() => {});
        ahead.push(got);
      }
      const message = await ahead.shift();
      if (message) yield message;
    }
  } catch (error) {
    throw failed('cli.stream', `The stream cannot be read: ${(error as Error).message}.`);
  } finally {
    await nc.close();
  }
}

async function open({ url, user, pass }: Settings['nats']): Promise<NatsConnection> {
  try {
    return await connect({ servers: url, user, pass, name: 'holdpoint check', reconnect: false, noAsyncTraces: true });
  } catch (error) {
    if ((error as Error).name === 'AuthorizationError')
      throw failed(
        'cli.token-refused',
        `The bus at ${url} refused the account ${user}. Start Holdpoint again: npm start`,
        401,
      );
    throw notRunning(`The bus cannot be reached at ${url}.`);
  }
}
