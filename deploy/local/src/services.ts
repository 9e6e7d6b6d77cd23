import { join } from 'node:path';
import type { ServiceName } from '@holdpoint/contracts';
import { DATABASE_NAME, databaseUrl, freePort, READERS, roleOf, SERVICES } from '@holdpoint/provision';
import { demoDatabaseUrl } from './demo-database.js';
import { AUDIENCE } from './development-issuer.js';
import type { Home } from './home.js';
import { SPACE_CREATORS } from './people.js';
import type { Endpoint, Ports } from './ports.js';
import { REPOSITORY } from './repository.js';
import { secretVariables } from './secret-variables.js';
import type { Secrets } from './secrets.js';
import type { Settings } from './settings.js';

export const endpointOf = (service: ServiceName): Endpoint => (service === 'agent-engine' ? 'engine' : service);

export interface ServiceProgram {
  /** The service's; a further instance's has its number behind it, such as `policy-2`. */
  name: string;
  script: string;
  url: string;
  env: Record<string, string>;
}

/** Each service with its own database role, bus account and token, and no other's. */
export function servicePrograms(settings: Settings, home: Home, secrets: Secrets, ports: Ports): ServiceProgram[] {
  const policyUrl = `http://127.0.0.1:${ports.policy}`;
  const extra: Partial<Record<ServiceName, Record<string, string>>> = {
    'agent-engine': {
      HOLDPOINT_CONFIG: settings.config,
      MAIL_SMTP_URL: `smtp://127.0.0.1:${ports.smtp}`,
      MAIL_FROM: 'agents@acme.example',
      MAIL_MAILDIR: home.maildir,
      FILERW_ROOT: home.workspace,
      ...demoDatabase(secrets, ports),
      // A person's own settings come last: their mail server, maildir or folder in place of the demonstration's.
      ...given('MAIL_SMTP_URL', 'MAIL_FROM', 'MAIL_MAILDIR', 'FILERW_ROOT'),
      ...given('ORDERS_URL', 'ORDERS_TOKEN'),
      ...given('OPENAI_API_KEY', 'ANTHROPIC_API_KEY', ...secretVariables(settings.config)),
    },
    policy: {
      HOLDPOINT_CONFIG: settings.config,
      DECISIONS_DATABASE_URL: databaseUrl(`postgres://127.0.0.1:${ports.postgres}`, DATABASE_NAME, {
        role: READERS['policy-reader'].role,
        password: secrets.database['policy-reader'],
      }),
      SPACE_CREATORS: SPACE_CREATORS.join(' '),
    },
    taskboard: { ENGINE_URL: `http://127.0.0.1:${ports.engine}` },
  };
  return SERVICES.map((name) => ({
    name,
    script:
      (name === 'agent-engine' ? settings.engineProgram : undefined) ??
      join(REPOSITORY, 'services', name, 'dist/src/main.js'),
    url: `http://127.0.0.1:${ports[endpointOf(name)]}`,
    env: {
      DATABASE_URL: databaseUrl(`postgres://127.0.0.1:${ports.postgres}`, DATABASE_NAME, {
        role: roleOf(name),
        password: secrets.database[name],
      }),
      NATS_URL: `nats://127.0.0.1:${ports.nats}`,
      NATS_USER: name,
      NATS_PASSWORD: secrets.bus[name],
      HOST: '127.0.0.1',
      PORT: String(ports[endpointOf(name)]),
      HOLDPOINT_IDENTITY_FILE: home.identities,
      OIDC_ISSUER: `http://127.0.0.1:${ports.issuer}`,
      OIDC_AUDIENCE: AUDIENCE,
      HOLDPOINT_DEV: '1',
      ...(name === 'policy' ? {} : { POLICY_URL: policyUrl }),
      HOLDPOINT_SERVICE_TOKEN: secrets.services[name],
      HOLDPOINT_MASTER_KEY_FILE: home.masterKey,
      ...extra[name],
    },
  }));
}

/** Not when a person has set a database of their own. */
const demoDatabase = ({ demo }: Secrets, { postgres }: Ports): Record<string, string> =>
  process.env['DATABASE_TOOL_URL']
    ? {}
    : {
        DATABASE_TOOL_URL: demoDatabaseUrl(postgres, 'demo_writer', demo.demo_writer),
        DATABASE_TOOL_READ_URL: demoDatabaseUrl(postgres, 'demo_reader', demo.demo_reader),
      };

/** As many instances of each service as asked for. They share tables and durable consumers; clients know the first. */
export async function instancesOf(programs: ServiceProgram[], count: number): Promise<ServiceProgram[]> {
  const all = [...programs];
  for (let n = 2; n <= count; n++)
    for (const p of programs) {
      const port = await freePort();
      const env = { ...p.env, PORT: String(port) };
      all.push({ ...p, name: `${p.name}-${n}`, url: `http://127.0.0.1:${port}`, env });
    }
  return all;
}

const given = (...names: string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
