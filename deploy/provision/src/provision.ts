import {
  CHECKPOINT_STREAM,
  CHECKPOINT_SUBJECTS,
  consumerName,
  STREAM,
  STREAM_SUBJECTS,
  topology,
} from '@holdpoint/contracts';
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { HINT_PREFIX } from './accounts.js';
import { durableNames, FOREIGN_PREFIX, type ForeignConsumer } from './foreign-consumers.js';
import { SERVICES } from './names.js';

const SECOND = 1_000_000_000;
/** A stranger's program says less often that it is still at work. */
const FOREIGN_ACK_WAIT_MS = 30_000;
const STREAM_NOT_FOUND = 10059;
const CONSUMER_NOT_FOUND = 10014;

export interface BusProvisioning {
  servers: string;
  /** HUB's password: the only account that may touch streams and consumers. */
  password: string;
  /** Copies of each message; 3 in production. Default 1. */
  replicas?: number;
  /** Size at which the stream refuses new messages; nothing is ever dropped. Default: no limit but the disk. */
  maxBytes?: number;
  /** The operator's own. Durable consumers of those that are declared no more are taken away. */
  consumers?: readonly ForeignConsumer[];
  /**
   * How long a delivered event waits for the one who took it, before another gets it. Whoever works on it says so three
   * times within that. Default 10 s.
   */
  ackWaitMs?: number;
}

/** Creates the streams and every durable consumer of `topology`, or brings them up to date. Idempotent. */
export async function provisionBus(options: BusProvisioning): Promise<void> {
  const nc = await connect({
    servers: options.servers,
    user: 'hub',
    pass: options.password,
    name: 'provisioner',
  });
  try {
    const jsm = await jetstreamManager(nc);
    await ensureStream(jsm, STREAM, {
      ...keptForEver(options),
      subjects: [...STREAM_SUBJECTS],
      max_bytes: options.maxBytes ?? -1,
      // Hints carry no body: they say that something was stored, and where to read it.
      republish: { src: '>', dest: `${HINT_PREFIX}.>`, headers_only: true },
    });
    await ensureStream(jsm, CHECKPOINT_STREAM, { ...keptForEver(options), subjects: [...CHECKPOINT_SUBJECTS] });
    for (const service of SERVICES)
      for (const pattern of topology[service].consumes)
        await ensureConsumer(jsm, consumerName(service, pattern), pattern, options.ackWaitMs ?? 10_000);
    await ensureForeign(jsm, options.consumers ?? []);
  } finally {
    await nc.close();
  }
}

async function ensureForeign(jsm: JetStreamManager, consumers: readonly ForeignConsumer[]): Promise<void> {
  const declared = consumers.flatMap((c) =>
    durableNames(c).map((name, i) => ({ name, subject: c.subjects[i] as string })),
  );
  for (const { name, subject } of declared) await ensureConsumer(jsm, name, subject, FOREIGN_ACK_WAIT_MS);
  const names = new Set(declared.map((d) => d.name));
  for await (const { name } of jsm.consumers.list(STREAM))
    if (name.startsWith(FOREIGN_PREFIX) && !names.has(name)) await jsm.consumers.delete(STREAM, name);
}

const keptForEver = ({ replicas = 1 }: BusProvisioning) => ({
  num_replicas: replicas,
  max_age: 0,
  duplicate_window: 120 * SECOND,
  discard: DiscardPolicy.New,
  allow_direct: true,
  deny_delete: true,
  deny_purge: true,
});

async function ensureStream(jsm: JetStreamManager, name: string, config: Partial<StreamConfig>) {
  const found = await unless(STREAM_NOT_FOUND, jsm.streams.info(name));
  if (found) await jsm.streams.update(name, { ...found.config, ...config });
  else await jsm.streams.add({ ...config, name, storage: StorageType.File, retention: RetentionPolicy.Limits });
}

/** Looked up before it is added: servers differ in what adding an existing consumer with other settings does. */
async function ensureConsumer(jsm: JetStreamManager, name: string, pattern: string, ackWaitMs: number) {
  const everything = pattern === '>';
  const config: Partial<ConsumerConfig> = {
    ack_wait: (ackWaitMs / 1000) * SECOND,
    max_deliver: -1,
    // a backoff would silently stand in for the acknowledgement wait; one that somebody set by hand goes
    backoff: [],
    max_ack_pending: everything ? 16_384 : 1024,
    ...(everything ? {} : { filter_subject: pattern }),
  };
  const found = await unless(CONSUMER_NOT_FOUND, jsm.consumers.info(STREAM, name));
  if (found) await jsm.consumers.update(STREAM, name, config);
  else
    await jsm.consumers.add(STREAM, {
      ...config,
      durable_name: name,
      ack_policy: everything ? AckPolicy.All : AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
    });
}

const unless = <T>(code: number, answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((err: unknown) => {
    if (err instanceof JetStreamApiError && err.code === code) return undefined;
    throw err;
  });
