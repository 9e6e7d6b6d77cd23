import { writePrivately } from '@holdpoint/provision';
import { fetchToken } from './development-issuer.js';
import type { Home } from './home.js';
import { PEOPLE } from './people.js';
import type { Ports } from './ports.js';
import type { Secrets } from './secrets.js';

/** What a person at this machine needs to use the system: `client.json`, read by the `holdpoint` command. */
export interface ClientFile {
  urls: Record<'engine' | 'policy' | 'staging' | 'taskboard' | 'audit', string>;
  /** Where people sign in. */
  issuer: string;
  /** Bearer tokens by person, from the issuer. */
  people: Record<string, string>;
  /** An account that reads the whole stream and changes nothing. */
  nats: { url: string; user: string; pass: string };
}

/** Signs everybody in and writes it down. Again and again, so that no token comes to its end while the system runs. */
export async function writeClientFile(home: Home, ports: Ports, secrets: Secrets, bus: string): Promise<ClientFile> {
  const at = (port: number) => `http://127.0.0.1:${port}`;
  const issuer = at(ports.issuer);
  const people: Record<string, string> = {};
  for (const { id } of PEOPLE) people[id] = await fetchToken(issuer, { id, secret: secrets.people[id] ?? '' });
  const client: ClientFile = {
    urls: {
      engine: at(ports.engine),
      policy: at(ports.policy),
      staging: at(ports.staging),
      taskboard: at(ports.taskboard),
      audit: at(ports.audit),
    },
    issuer,
    people,
    nats: { url: bus, user: 'checker', pass: secrets.bus.checker },
  };
  await writePrivately(home.client, `${JSON.stringify(client, null, 2)}\n`);
  return client;
}
