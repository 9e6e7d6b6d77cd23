import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHECKPOINT_STREAM, CHECKPOINT_SUBJECT, consumerName, STREAM, topology } from '@holdpoint/contracts';
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import { AuthorizationError, connect, type NatsConnection } from '@nats-io/transport-node';
import { BUS_API_PREFIX, BUS_USERS, type BusConfig, type BusUser } from './accounts.js';
import { foreignUser } from './foreign-consumers.js';
import { SERVICES } from './names.js';

const PAUSE_MS = 500;
const TEMPORARILY_UNAVAILABLE = 10008;

/** The bus is away or is not set up as it must be. The message says what to do. */
export class BusUnusable extends Error {
  override readonly name = 'BusUnusable';
}

export interface BusToVerify {
  servers: string;
  passwords: Record<BusUser, string>;
  consumers?: BusConfig['consumers'];
  /** How long a bus that does not answer yet is waited for; one that answers wrongly is not. */
  waitMs: number;
  signal?: AbortSignal;
}

/**
 * Makes sure that a bus of the operator's own answers, knows every user and stores messages.
 * @returns the server's version
 * @throws BusUnusable
 */
export async function verifyBus(bus: BusToVerify): Promise<string> {
  const end = performance.now() + bus.waitMs;
  const hub = await untilThere(bus, end);
  try {
    await refusesStrangers(bus.servers);
    await storesMessages(hub, end, bus);
    const users = [
      ...BUS_USERS.map((user) => ({ user: user as string, pass: bus.passwords[user] })),
      ...(bus.consumers ?? []).map((c) => ({ user: foreignUser(c), pass: c.password })),
    ];
    const refused: string[] = [];
    for (const login of users)
      await logIn(bus.servers, login).then(
        (nc) => nc.close(),
        (cause: unknown) => {
          if (!(cause instanceof AuthorizationError)) throw unreachable(bus.servers, cause);
          refused.push(login.user);
        },
      );
    if (refused.length > 0) throw accountsMissing(bus.servers, refused);
    return hub.info?.version ?? 'unknown';
  } finally {
    await hub.close();
  }
}

/**
 * Makes sure that what HUB owns can be reached from the other accounts. After provisioning, since only what is there can be asked for.
 * @throws BusUnusable
 */
export async function verifyImports(bus: Pick<BusToVerify, 'servers' | 'passwords'>): Promise<void> {
  for (const service of SERVICES) {
    const pattern = topology[service].consumes[0];
    if (pattern === undefined) continue;
    const nc = await logIn(bus.servers, { user: service, pass: bus.passwords[service] });
    try {
      const call = `${BUS_API_PREFIX}.CONSUMER.INFO.${STREAM}.${consumerName(service, pattern)}`;
      const answer = await nc.request(call, undefined, { timeout: 5_000 });
      const { error } = answer.json<{ error?: { description: string } }>();
      if (error) throw new Error(error.description);
      // That there is no checkpoint yet is an answer too.
      if (service === 'audit')
        await nc.request(
          `${BUS_API_PREFIX}.STREAM.MSG.GET.${CHECKPOINT_STREAM}`,
          JSON.stringify({ last_by_subj: CHECKPOINT_SUBJECT }),
          { timeout: 5_000 },
        );
    } catch (cause) {
      throw new BusUnusable(
        `${bus.servers}: ${service} cannot reach the stream from its account: the exports and imports of the accounts are missing. Start the server with the rendered configuration, whole.`,
        { cause },
      );
    } finally {
      await nc.close();
    }
  }
}

/** A server without accounts takes everybody, whatever password they give. */
async function refusesStrangers(servers: string): Promise<void> {
  const stranger = await logIn(servers, { user: 'hub', pass: randomUUID() }).catch(() => undefined);
  await stranger?.close();
  if (stranger)
    throw new BusUnusable(
      `${servers} lets in whoever asks, with any password: its accounts are missing. Start the server with the rendered configuration of this installation.`,
    );
}

const logIn = (servers: string, login: { user: string; pass: string }): Promise<NatsConnection> =>
  connect({ servers, ...login, name: 'provisioner', reconnect: false, timeout: 5_000 });

async function untilThere(bus: BusToVerify, end: number): Promise<NatsConnection> {
  for (;;) {
    try {
      return await logIn(bus.servers, { user: 'hub', pass: bus.passwords.hub });
    } catch (cause) {
      if (cause instanceof AuthorizationError) throw accountsMissing(bus.servers, ['hub'], cause);
      if (performance.now() >= end) throw unreachable(bus.servers, cause);
    }
    await sleep(PAUSE_MS, undefined, bus.signal ? { signal: bus.signal } : {});
  }
}

/** Servers of a cluster answer before they have a leader: that passes. */
async function storesMessages(hub: NatsConnection, end: number, { servers, signal }: BusToVerify): Promise<void> {
  for (;;) {
    try {
      await (await jetstreamManager(hub)).getAccountInfo();
      return;
    } catch (cause) {
      const off =
        (cause instanceof Error && cause.name === 'JetStreamNotEnabled') ||
        (cause instanceof JetStreamApiError && cause.code !== TEMPORARILY_UNAVAILABLE);
      if (off)
        throw new BusUnusable(
          `${servers}: JetStream is off for the account HUB, so nothing can be stored there (${(cause as Error).message}). Start the server with the rendered configuration, or add a jetstream block with a store_dir to yours.`,
          { cause },
        );
      if (performance.now() >= end)
        throw new BusUnusable(`${servers}: JetStream is not ready: ${String(cause)}`, { cause });
    }
    await sleep(PAUSE_MS, undefined, signal ? { signal } : {});
  }
}

const unreachable = (servers: string, cause: unknown): BusUnusable =>
  new BusUnusable(
    `${servers} is not reachable (${cause instanceof Error ? cause.message : cause}): start the server, or correct NATS_URL`,
    { cause },
  );

const accountsMissing = (servers: string, users: string[], cause?: unknown): BusUnusable =>
  new BusUnusable(
    `${servers} refuses ${users.join(', ')}: its accounts are missing, or have other passwords. Start the server with the rendered configuration of this installation.`,
    cause === undefined ? {} : { cause },
  );
