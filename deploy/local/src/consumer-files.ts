import { readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { STREAM } from '@holdpoint/contracts';
import { BUS_API_PREFIX, durableNames, type ForeignConsumer, foreignUser, writePrivately } from '@holdpoint/provision';
import type { Home } from './home.js';
import type { Secrets } from './secrets.js';

/**
 * What each of the operator's own consumers connects with, in a file of its own; those of consumers that are declared no
 * more are removed. Returns their paths.
 */
export async function writeConsumerFiles(
  home: Home,
  servers: string,
  consumers: readonly ForeignConsumer[],
  secrets: Secrets,
): Promise<string[]> {
  const files = consumers.map((c) => join(home.consumers, `${c.name}.json`));
  for (const stale of await readdir(home.consumers))
    if (!files.some((file) => basename(file) === stale)) await rm(join(home.consumers, stale));
  for (const [i, consumer] of consumers.entries()) {
    const content = {
      servers,
      user: foreignUser(consumer),
      pass: secrets.consumers[consumer.name],
      apiPrefix: BUS_API_PREFIX,
      stream: STREAM,
      consumers: durableNames(consumer).map((name, n) => ({ name, subject: consumer.subjects[n] })),
    };
    await writePrivately(files[i] as string, `${JSON.stringify(content, null, 2)}\n`);
  }
  return files;
}
