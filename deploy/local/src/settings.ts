import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { loadConfig } from '@holdpoint/runtime';
import { z } from 'zod';
import { REPOSITORY } from './repository.js';

const port = z.coerce.number().int().min(1).max(65_535).optional().describe('a port number from 1 to 65535');

const variables = z.object({
  HOLDPOINT_HOME: z.string().optional().describe('the path of a folder outside the checkout'),
  HOLDPOINT_CONFIG: z.string().optional().describe('the path of holdpoint.yaml'),
  HOLDPOINT_ENGINE_PROGRAM: z.string().optional().describe('the path of a program that runs an agent-engine'),
  HOLDPOINT_PORTS: z
    .enum(['default', 'free'])
    .default('default')
    .describe('default, or free to take any ports that are free'),
  HOLDPOINT_ENGINE_PORT: port,
  HOLDPOINT_POLICY_PORT: port,
  HOLDPOINT_STAGING_PORT: port,
  HOLDPOINT_TASKBOARD_PORT: port,
  HOLDPOINT_AUDIT_PORT: port,
  HOLDPOINT_ISSUER_PORT: port,
  HOLDPOINT_SMTP_PORT: port,
  HOLDPOINT_POSTGRES_PORT: port,
  HOLDPOINT_NATS_PORT: port,
  HOLDPOINT_TRACES_PORT: port,
  HOLDPOINT_SERVERS: z.enum(['only', 'all']).default('all').describe('only, to start no service, or all'),
  HOLDPOINT_TRACES: z.enum(['on', 'off']).default('off').describe('on, to collect traces and show them, or off'),
  HOLDPOINT_INSTANCES: z.coerce.number().int().min(1).max(8).default(1).describe('a number from 1 to 8'),
  HOLDPOINT_ACK_WAIT_MS: z.coerce
    .number()
    .int()
    .min(500)
    .max(600_000)
    .default(10_000)
    .describe('a number of milliseconds from 500 to 600000'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe('a postgres:// URL that names a database'),
  NATS_URL: z
    .url({ protocol: /^nats$/ })
    .refine((url) => new URL(url).username === '' && new URL(url).hostname !== '')
    .optional()
    .describe('a nats:// URL without a user in it: the accounts are those of this home'),
  HOLDPOINT_NATS_WAIT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(3_600_000)
    .default(60_000)
    .describe('a number of milliseconds, at most 3600000'),
  NATS_SERVER: z.string().default('nats-server').describe('the path of a nats-server'),
  XDG_STATE_HOME: z.string().optional().describe('the path of a folder'),
});

export interface Settings {
  home: string;
  /** Whether the `holdpoint` command finds the home without being told. */
  homeIsDefault: boolean;
  config: string;
  /** An engine with tools of one's own, in place of the one that is built here. */
  engineProgram: string | undefined;
  natsServer: string;
  /** A database of the operator's own in place of the embedded server. */
  databaseUrl: string | undefined;
  /** A bus of the operator's own in place of the server that is started here. */
  natsUrl: string | undefined;
  /** How long that one is waited for. */
  natsWaitMs: number;
  freePorts: boolean;
  /** Database and bus alone, without any service: for recovery. */
  serversOnly: boolean;
  /** Whether traces are collected and shown. */
  traces: boolean;
  /** How many of each service. */
  instances: number;
  /** How long an event that a killed process had taken stays untouched. */
  ackWaitMs: number;
  /** What a person asked for, by the variable's name. */
  ports: Partial<Record<string, number>>;
}

/** @throws ConfigError that names every wrong variable */
export function loadSettings(env: NodeJS.ProcessEnv): Settings {
  const v = loadConfig(variables, env);
  const state = v.XDG_STATE_HOME ?? join(homedir(), '.local', 'state');
  const defaultHome = process.getuid?.() === 0 ? '/var/lib/holdpoint' : join(state, 'holdpoint');
  const home = resolve(v.HOLDPOINT_HOME ?? defaultHome);
  return {
    home,
    homeIsDefault: home === resolve(defaultHome),
    config: resolve(v.HOLDPOINT_CONFIG ?? join(REPOSITORY, 'holdpoint.yaml')),
    engineProgram: v.HOLDPOINT_ENGINE_PROGRAM === undefined ? undefined : resolve(v.HOLDPOINT_ENGINE_PROGRAM),
    natsServer: v.NATS_SERVER,
    databaseUrl: v.DATABASE_URL,
    natsUrl: v.NATS_URL,
    natsWaitMs: v.HOLDPOINT_NATS_WAIT_MS,
    instances: v.HOLDPOINT_INSTANCES,
    ackWaitMs: v.HOLDPOINT_ACK_WAIT_MS,
    serversOnly: v.HOLDPOINT_SERVERS === 'only',
    traces: v.HOLDPOINT_TRACES === 'on',
    freePorts: v.HOLDPOINT_PORTS === 'free',
    ports: Object.fromEntries(Object.entries(v).filter(([name]) => name.endsWith('_PORT'))) as Settings['ports'],
  };
}
