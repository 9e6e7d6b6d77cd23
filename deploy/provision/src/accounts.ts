import {
  CHECKPOINT_STREAM,
  CHECKPOINT_SUBJECTS,
  consumerName,
  type ServiceName,
  STREAM,
  topology,
} from '@holdpoint/contracts';
import { durableNames, type ForeignConsumer, foreignAccount, foreignUser } from './foreign-consumers.js';
import { accountOf, SERVICES } from './names.js';

/** `hub` provisions and owns the stream; `checker` reads it whole and can do nothing else; a service's user is named as the service. */
export type BusUser = ServiceName | 'hub' | 'checker';
export const BUS_USERS: readonly BusUser[] = [...SERVICES, 'hub', 'checker'];

/** Prefix under which other accounts see the stream's API: `jetstream(nc, { apiPrefix: BUS_API_PREFIX })`. */
export const BUS_API_PREFIX = 'hub.API';

/**
 * The stream repeats what it has stored below this prefix, within HUB. Exports hand hints out from here, as the server
 * does not pass on what came in through another account's import.
 */
export const HINT_PREFIX = 'hint';

export interface BusConfig {
  passwords: Record<BusUser, string>;
  /** The operator's own, each with an account that can take and acknowledge what its consumers hold, and nothing else. */
  consumers?: readonly (ForeignConsumer & { password: string })[];
  /** The server keeps its streams in `jetstream` below this folder. */
  storeDir: string;
  host?: string;
  /** -1 lets the server choose. */
  port: number;
  /** Sync every message to disk before it is acknowledged. Servers before 2.10 refuse to start with it. */
  syncAlways: boolean;
  /** Several servers that are one bus; each has a name of its own, given when it is started. */
  cluster?: { port: number; password: string; routes: readonly { host: string; port: number }[] };
  /** Where the server tells how it is, to anybody who gets there. */
  monitorPort?: number;
}

interface Grant {
  kind: 'service' | 'stream';
  subject: string;
  account: string;
  /** The subject under which the account sees it, when another. */
  to?: string;
  /** Several answers to one request. */
  many?: boolean;
}

const API = '$JS.API.';
const api = (account: string, call: string, many = false): Grant => ({
  kind: 'service',
  subject: `${API}${call}`,
  account,
  to: `${BUS_API_PREFIX}.${call}`,
  many,
});
const directGet = `DIRECT.GET.${STREAM}`;

function grantsOf(service: ServiceName): Grant[] {
  const account = accountOf(service);
  const { publishes, consumes, hints, readsLeader } = topology[service];
  const own = publishes.flatMap((subject): Grant[] => [
    { kind: 'service', subject, account },
    api(account, `${directGet}.${subject}`),
  ]);
  const consumers = consumes.flatMap((pattern) => takesFrom(account, consumerName(service, pattern)));
  const live = hints.map((to): Grant => ({ kind: 'stream', subject: `${HINT_PREFIX}.${to}`, account, to }));
  const leader = readsLeader ? [api(account, `STREAM.MSG.GET.${STREAM}`)] : [];
  const everything = consumes.includes('>') ? readsWholeStream(account) : [];
  const signs = service === 'audit' ? checkpointsOf(account) : [];
  return [...own, ...consumers, ...live, ...leader, ...everything, ...signs];
}

/** Whoever has these can ask for messages and acknowledge them. The answer goes to the account that asked, whatever reply it named. */
const takesFrom = (account: string, consumer: string): Grant[] => [
  api(account, `CONSUMER.MSG.NEXT.${STREAM}.${consumer}`, true),
  api(account, `CONSUMER.INFO.${STREAM}.${consumer}`),
  { kind: 'service', subject: `$JS.ACK.${STREAM}.${consumer}.>`, account },
];

const readsWholeStream = (account: string): Grant[] => [api(account, directGet), api(account, `${directGet}.>`)];

/** From the leader: what was signed must not be signed otherwise because a replica was behind. */
const checkpointsOf = (account: string): Grant[] => [
  ...CHECKPOINT_SUBJECTS.map((subject): Grant => ({ kind: 'service', subject, account })),
  api(account, `STREAM.MSG.GET.${CHECKPOINT_STREAM}`),
];

const CHECKER: Grant[] = [
  ...readsWholeStream('CHECKER'),
  api('CHECKER', `STREAM.INFO.${STREAM}`),
  api('CHECKER', `DIRECT.GET.${CHECKPOINT_STREAM}`),
  api('CHECKER', `DIRECT.GET.${CHECKPOINT_STREAM}.>`),
  api('CHECKER', `STREAM.INFO.${CHECKPOINT_STREAM}`),
];

/** What HUB hands out: one export a subject, open to the accounts named and to no other. */
function exportsOf(grants: Grant[]) {
  const bySubject = Map.groupBy(grants, ({ kind, subject }) => `${kind} ${subject}`);
  return [...bySubject.values()].map((same) => ({
    ...Object.fromEntries(same.map(({ kind, subject }) => [kind, subject])),
    ...(same.some((g) => g.many) ? { response_type: 'stream' } : {}),
    accounts: same.map((g) => g.account),
  }));
}

const importsOf = (grants: Grant[]) =>
  grants.map((g) => ({
    [g.kind]: { account: 'HUB', subject: g.subject },
    ...(g.to ? { to: g.to } : {}),
  }));

/**
 * The bus's configuration, derived from `topology`. One account a service, since allow-lists within one account can be got
 * round: a Direct Get or a publish whose *reply* is a foreign subject stores a body of the sender's choice there. Across
 * accounts the server replaces the reply. Only HUB may touch streams and consumers.
 */
export function renderBusConfig(config: BusConfig): string {
  const user = (name: BusUser) => [{ user: name, password: config.passwords[name] }];
  const services = SERVICES.map((service) => ({ service, grants: grantsOf(service) }));
  const foreign = (config.consumers ?? []).map((consumer) => {
    const account = foreignAccount(consumer);
    const grants = durableNames(consumer).flatMap((durable) => takesFrom(account, durable));
    return { account, grants, user: { user: foreignUser(consumer), password: consumer.password } };
  });
  const accounts = {
    HUB: {
      jetstream: 'enabled',
      users: user('hub'),
      exports: exportsOf([...[...services, ...foreign].flatMap((s) => s.grants), ...CHECKER]),
    },
    CHECKER: { users: user('checker'), imports: importsOf(CHECKER) },
    ...Object.fromEntries(
      services.map(({ service, grants }) => [accountOf(service), { users: user(service), imports: importsOf(grants) }]),
    ),
    ...Object.fromEntries(foreign.map((f) => [f.account, { users: [f.user], imports: importsOf(f.grants) }])),
  };
  const { cluster } = config;
  // The server's configuration language takes JSON as it is.
  return `${JSON.stringify(
    {
      host: config.host ?? '127.0.0.1',
      port: config.port,
      jetstream: {
        store_dir: config.storeDir,
        ...(config.syncAlways ? { sync_interval: 'always' } : {}),
      },
      ...(config.monitorPort === undefined ? {} : { http_port: config.monitorPort }),
      ...(cluster ? { cluster: clusterOf(cluster) } : {}),
      authorization: { timeout: 10 },
      accounts,
    },
    null,
    2,
  )}\n`;
}

/** Only who knows the password becomes a server of the bus: one could read and write everything. */
const clusterOf = ({ port, password, routes }: NonNullable<BusConfig['cluster']>) => ({
  name: 'holdpoint',
  port,
  authorization: { user: 'route', password, timeout: 10 },
  routes: routes.map((r) => `nats://route:${encodeURIComponent(password)}@${r.host}:${r.port}`),
});
