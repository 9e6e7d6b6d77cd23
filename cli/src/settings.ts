import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { failed, misused, notRunning } from './failure.js';

export type Service = 'engine' | 'policy' | 'staging' | 'taskboard' | 'audit';

const clientFile = z.object({
  urls: z.object({
    engine: z.url(),
    policy: z.url(),
    staging: z.url(),
    taskboard: z.url(),
    audit: z.url(),
  }),
  people: z.record(z.string(), z.string()),
  nats: z.object({ url: z.string(), user: z.string(), pass: z.string() }),
});
export type ClientFile = z.infer<typeof clientFile>;

export interface Settings {
  urls: ClientFile['urls'];
  nats: ClientFile['nats'];
  token: string;
}

type Env = Record<string, string | undefined>;

/** Where a running system left its addresses and tokens. */
export function clientFileAt(env: Env, isRoot = process.getuid?.() === 0): string {
  const state = env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state');
  const home = env['HOLDPOINT_HOME'] || (isRoot ? '/var/lib/holdpoint' : join(state, 'holdpoint'));
  return join(home, 'client.json');
}

/**
 * Addresses from `client.json`, each to be overridden by `HOLDPOINT_<SERVICE>_URL`; the token of `HOLDPOINT_TOKEN`, else of
 * the person asked for, else of `HOLDPOINT_AS`, else of ada.
 * @throws Failure when nothing runs here, the file is damaged, or there is no such person
 */
export function loadSettings(as: string | undefined, env: Env = process.env): Settings {
  const file = readClientFile(clientFileAt(env));
  const urls = { ...file.urls };
  for (const service of Object.keys(urls) as Service[])
    urls[service] = env[`HOLDPOINT_${service.toUpperCase()}_URL`] || urls[service];
  const nats = {
    url: env['HOLDPOINT_NATS_URL'] || file.nats.url,
    user: env['HOLDPOINT_NATS_USER'] || file.nats.user,
    pass: env['HOLDPOINT_NATS_PASSWORD'] || file.nats.pass,
  };
  return {
    urls,
    nats,
    token: (as === undefined && env['HOLDPOINT_TOKEN']) || tokenOf(file, as ?? env['HOLDPOINT_AS']),
  };
}

function tokenOf(file: ClientFile, person = 'ada'): string {
  const token = Object.hasOwn(file.people, person) ? file.people[person] : undefined;
  if (token !== undefined) return token;
  throw misused(`There is no token for ${person} here. Known: ${Object.keys(file.people).join(', ')}.`);
}

function readClientFile(path: string): ClientFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw notRunning(`There is no ${path}.`);
    throw failed('cli.no-access', `${path} cannot be read (${code}). It belongs to whoever started Holdpoint.`);
  }
  try {
    return clientFile.parse(JSON.parse(text));
  } catch {
    throw failed('cli.damaged-home', `${path} is not what Holdpoint writes. Stop it and start it again: npm start`);
  }
}
