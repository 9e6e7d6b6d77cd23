import { type BusUser, type ForeignConsumer, renderBusConfig, verifyBus, writePrivately } from '@holdpoint/provision';
import type { Home } from './home.js';
import type { Ports } from './ports.js';
import type { Secrets } from './secrets.js';
import type { Settings } from './settings.js';

const DEFAULT_PORT = 4222;

interface OwnBus {
  natsUrl: string;
  settings: Settings;
  home: Home;
  passwords: Record<BusUser, string>;
  consumers: readonly (ForeignConsumer & { password: string })[];
  /** Whether its server can sync each message before it acknowledges it. */
  syncAlways: boolean;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** Where services reach the bus. */
export const busUrl = ({ natsUrl }: Settings, ports: Ports): string => natsUrl ?? `nats://127.0.0.1:${ports.nats}`;

export const withPasswords = (consumers: readonly ForeignConsumer[], secrets: Secrets) =>
  consumers.map((c) => ({ ...c, password: secrets.consumers[c.name] as string }));

/**
 * A bus that the operator runs: writes down what its server has to be started with, says how, and makes sure that it was.
 * @throws BusUnusable
 */
export async function useOwnBus(own: OwnBus): Promise<void> {
  const { natsUrl, settings, home, passwords, consumers, syncAlways, say, signal } = own;
  const { hostname, port } = new URL(natsUrl);
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  const config = renderBusConfig({
    passwords,
    consumers,
    storeDir: home.nats,
    host: loopback ? '127.0.0.1' : '0.0.0.0',
    port: Number(port || DEFAULT_PORT),
    syncAlways,
  });
  await writePrivately(home.natsConfig, config);
  say(`the bus is yours, at ${natsUrl}. What its server needs, passwords too, is in ${home.natsConfig}; start it with
  nats-server -c ${home.natsConfig}
After a change of consumers start it again.`);
  const version = await verifyBus({ servers: natsUrl, passwords, consumers, waitMs: settings.natsWaitMs, signal });
  say(`nats-server ${version} answers there, and knows every account`);
}
