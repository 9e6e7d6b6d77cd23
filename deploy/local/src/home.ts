import { chmod, lstat, mkdir, readdir, realpath } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { othersMayTraverse } from '@holdpoint/provision';
import { REPOSITORY } from './repository.js';

/** Everything that a local installation keeps. Deleting the folder is a reset. */
export interface Home {
  path: string;
  secrets: string;
  masterKey: string;
  /** Signs the audit log. */
  signingKey: string;
  /** Its checkpoints, kept outside of the database. */
  checkpoints: string;
  identities: string;
  issuerKey: string;
  client: string;
  /** Credentials of the operator's own consumers, a file each. */
  consumers: string;
  run: string;
  logs: string;
  postgres: string;
  nats: string;
  /** What a bus of the operator's own is started with. */
  natsConfig: string;
  outbox: string;
  maildir: string;
  workspace: string;
}

export const homeAt = (path: string): Home => ({
  path,
  secrets: join(path, 'secrets.json'),
  masterKey: join(path, 'master.key'),
  signingKey: join(path, 'audit-signing.key'),
  checkpoints: join(path, 'checkpoints.jsonl'),
  identities: join(path, 'identity.json'),
  issuerKey: join(path, 'issuer.key'),
  client: join(path, 'client.json'),
  consumers: join(path, 'consumers'),
  run: join(path, 'run'),
  logs: join(path, 'logs'),
  postgres: join(path, 'postgres'),
  nats: join(path, 'nats'),
  natsConfig: join(path, 'nats-server.conf'),
  outbox: join(path, 'demo', 'outbox'),
  maildir: join(path, 'demo', 'maildir'),
  workspace: join(path, 'demo', 'workspace'),
});

/**
 * Makes the folder, closed to others; under root others may pass through it, as PostgreSQL runs as another user there.
 * @throws when it is the checkout, within it or around it, holds something else, cannot be written, or that user cannot
 * get there
 */
export async function openHome(path: string): Promise<Home> {
  try {
    return await open(path);
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === undefined) throw err;
    throw new Error(`HOLDPOINT_HOME (${path}) cannot be used (${code}): give a folder that you may make and write to`);
  }
}

async function open(path: string): Promise<Home> {
  const asRoot = process.getuid?.() === 0;
  const [real, checkout] = [await willBeAt(path), await realpath(REPOSITORY)];
  const contains = (outer: string, inner: string) => `${inner}${sep}`.startsWith(`${outer}${sep}`);
  if (contains(checkout, real) || contains(real, checkout))
    throw new Error(
      `HOLDPOINT_HOME (${real}) must lie outside the checkout (${checkout}): tools may write there, and it holds every secret`,
    );
  const inside = await readdir(real).catch(ifMissing);
  if (inside && inside.length > 0 && !inside.includes('run'))
    throw new Error(`HOLDPOINT_HOME (${real}) holds something else: give a folder that is new or empty`);
  if (asRoot && !(await othersMayTraverse(await nearest(dirname(real)))))
    throw new Error(
      `HOLDPOINT_HOME (${real}) is out of reach for the user postgres: give a folder that it can get to, such as /var/lib/holdpoint`,
    );
  await make(real, 0o700);
  await chmod(real, asRoot ? 0o711 : 0o700);
  const home = homeAt(real);
  for (const folder of [home.consumers, home.run, home.logs, home.nats, join(real, 'demo'), home.outbox])
    await make(folder, 0o700);
  return home;
}

/** One folder after another: `mkdir` with `recursive` never ends in a place like /proc, where nothing can be made. */
async function make(path: string, mode?: number): Promise<void> {
  if (await lstat(path).catch(ifMissing)) return;
  await make(dirname(path));
  await mkdir(path, mode).catch(ifThere);
}

/** The real path that a folder has, or will have once it is made. */
async function willBeAt(path: string): Promise<string> {
  const exists = await nearest(path);
  return join(await realpath(exists), relative(exists, path));
}

/** The folder itself, or the nearest one above it that exists. */
async function nearest(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) if (await lstat(at).catch(ifMissing)) return at;
}

const ifMissing = (err: NodeJS.ErrnoException): undefined => {
  if (err.code !== 'ENOENT') throw err;
};

const ifThere = (err: NodeJS.ErrnoException): undefined => {
  if (err.code !== 'EEXIST') throw err;
};
