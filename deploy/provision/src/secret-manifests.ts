import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { renderBusConfig } from './accounts.js';
import type { ForeignConsumer } from './foreign-consumers.js';
import type { InstallationSecrets } from './installation-secrets.js';
import { READERS, roleOf, SERVICES } from './names.js';
import { databaseUrl } from './roles.js';

/** How the three servers find each other, and where they keep things: as the StatefulSet of deploy/kubernetes has it. */
const NATS = { clients: 4222, routes: 6222, monitor: 8222, storeDir: '/data', nodes: [0, 1, 2] };
const natsHost = (n: number): string => `holdpoint-nats-${n}.holdpoint-nats-nodes`;

interface Secretive {
  /** The administrator's. */
  databaseUrl: string;
  secrets: InstallationSecrets;
  masterKey: string;
  /** Of the audit log, in PEM. */
  signingKey: string;
  consumers: readonly ForeignConsumer[];
}

/** Every Secret that the manifests of deploy/kubernetes refer to, except the operator's own of tools and models. */
export function secretManifests({ databaseUrl: admin, secrets, masterKey, signingKey, consumers }: Secretive): string {
  const database = decodeURIComponent(new URL(admin).pathname.slice(1));
  const as = (role: string, password: string) => databaseUrl(admin, database, { role, password });
  const manifest = (name: string, stringData: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `holdpoint-${name}` },
    type: 'Opaque',
    stringData,
  });
  const { role } = READERS['policy-reader'];
  const readers: Record<string, Record<string, string>> = {
    policy: { DECISIONS_DATABASE_URL: as(role, secrets.database['policy-reader']) },
  };
  const manifests = [
    manifest('provision', { DATABASE_URL: admin, 'secrets.json': `${JSON.stringify(secrets, null, 2)}\n` }),
    manifest('nats', { 'nats.conf': natsConfig(secrets, consumers) }),
    manifest('master-key', { 'master.key': masterKey }),
    manifest('signing-key', { 'signing.key': signingKey }),
    manifest('identities', { 'identity.json': identities(secrets) }),
    ...SERVICES.map((service) =>
      manifest(service, {
        DATABASE_URL: as(roleOf(service), secrets.database[service]),
        NATS_PASSWORD: secrets.bus[service],
        HOLDPOINT_SERVICE_TOKEN: secrets.services[service],
        ...readers[service],
      }),
    ),
  ];
  return manifests.map((m) => stringify(m, { lineWidth: 0 })).join('---\n');
}

const natsConfig = (secrets: InstallationSecrets, consumers: readonly ForeignConsumer[]): string =>
  renderBusConfig({
    passwords: secrets.bus,
    consumers: consumers.map((c) => ({ ...c, password: secrets.consumers[c.name] as string })),
    storeDir: NATS.storeDir,
    host: '0.0.0.0',
    port: NATS.clients,
    monitorPort: NATS.monitor,
    syncAlways: true,
    cluster: {
      port: NATS.routes,
      password: secrets.cluster,
      routes: NATS.nodes.map((n) => ({ host: natsHost(n), port: NATS.routes })),
    },
  });

/** Services alone, by the hashes of their tokens; people sign in at the issuer. */
function identities({ services }: InstallationSecrets): string {
  const hash = (token: string) => createHash('sha256').update(token).digest('hex');
  const content = { people: [], services: SERVICES.map((id) => ({ id, tokenSha256: hash(services[id]) })) };
  return `${JSON.stringify(content, null, 2)}\n`;
}
