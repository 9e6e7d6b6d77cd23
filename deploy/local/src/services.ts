import { join } from 'node:path';
import type { ServiceName } from '@holdpoint/contracts';
import { DATABASE_NAME, databaseUrl, freePort, READERS, roleOf, SERVICES } from '@holdpoint/provision';
import { demoDatabaseUrl } from './demo-database.js';
import { AUDIENCE } from './development-issuer.js';
import type { Home } from './home.js';
import { busUrl } from './own-bus.js';
import { AUDITORS, OPERATORS, SPACE_CREATORS } from './people.js';
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

/** Name of the operator's own database; undefined for the embedded server. @throws when the URL names none */
export function databaseOf({ databaseUrl }: Settings): string | undefined {
  if (databaseUrl === undefined) return undefined;
  const name = decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
  if (name === '')
    throw new Error('DATABASE_URL names no database: write it behind the host, as in postgres://me@host/holdpoint');
  return name;
}

/** Each service with its own database role, bus account and token, and no other's. */
export function servicePrograms(settings: Settings, home: Home, secrets: Secrets, ports: Ports): ServiceProgram[] {
  const server = settings.databaseUrl ?? `postgres://127.0.0.1:${ports.postgres}`;
  const policyUrl = `http://127.0.0.1:${ports.policy}`;
  const extra: Partial<Record<ServiceName, Record<string, string>>> = {
    'agent-engine': {
      HOLDPOINT_CONFIG: settings.config,
      MAIL_SMTP_URL: `smtp://127.0.0.1:${ports.smtp}`,
      MAIL_FROM: 'agents@acme.example',
      ...(process.env['MAIL_IMAP_URL'] ? {} : { MAIL_MAILDIR: home.maildir }),
      FILERW_ROOT: home.workspace,
      ...demoDatabase(secrets, server),
      // A person's own settings come last: their mail servers, maildir or folder in place of the demonstration's.
      ...given('MAIL_SMTP_URL', 'MAIL_FROM', 'MAIL_MAILDIR', 'FILERW_ROOT'),
      ...given('ORDERS_URL', 'ORDERS_TOKEN'),
      ...given('MAIL_IMAP_URL', 'MAIL_IMAP_MAILBOX', 'MAIL_SENT_MAILBOX'),
      ...given('OPENAI_API_KEY', 'ANTHROPIC_API_KEY', ...secretVariables(settings.config)),
      ...given('FTP_URL', 'FTP_TLS', 'FTP_CA_FILE', 'FTP_ALLOW_PLAINTEXT', 'FTP_TIMEOUT_MS'),
      ...given('TELEGRAM_BOT_TOKEN', 'TELEGRAM_API_URL', 'TELEGRAM_CHATS', 'TELEGRAM_TIMEOUT_MS'),
    },
    policy: {
      HOLDPOINT_CONFIG: settings.config,
      DECISIONS_DATABASE_URL: databaseUrl(server, databaseOf(settings) ?? DATABASE_NAME, {
        role: READERS['policy-reader'].role,
        password: secrets.database['policy-reader'],
      }),
      SPACE_CREATORS: SPACE_CREATORS.join(' '),
      HOLDPOINT_OPERATORS: OPERATORS.join(' '),
      ...given('HOLDPOINT_OPERATORS', 'CHECK_VALID_MS'),
    },
    audit: {
      AUDIT_SIGNING_KEY_FILE: home.signingKey,
      AUDIT_CHECKPOINT_FILE: home.checkpoints,
      AUDIT_AUDITORS: AUDITORS.join(' '),
      ...given('AUDIT_AUDITORS', 'AUDIT_SIGNING_KEY_FILE', 'AUDIT_CHECKPOINT_FILE'),
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
      DATABASE_URL: databaseUrl(server, databaseOf(settings) ?? DATABASE_NAME, {
        role: roleOf(name),
        password: secrets.database[name],
      }),
      NATS_URL: busUrl(settings, ports),
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
      ...(settings.traces ? exportTo(ports.traces) : {}),
      ...extra[name],
    },
  }));
}

/** Often, as somebody is looking. */
const exportTo = (port: number): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/v1/traces`,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '500',
});

/** Not when a person has set a database of their own. */
const demoDatabase = ({ demo }: Secrets, server: string): Record<string, string> =>
  process.env['DATABASE_TOOL_URL']
    ? {}
    : {
        DATABASE_TOOL_URL: demoDatabaseUrl(server, 'demo_writer', demo.demo_writer),
        DATABASE_TOOL_READ_URL: demoDatabaseUrl(server, 'demo_reader', demo.demo_reader),
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
