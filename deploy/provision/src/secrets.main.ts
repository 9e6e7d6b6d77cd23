import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { readConsumers } from './foreign-consumers.js';
import { completeSecrets, newSigningKey, SecretsIncomplete, storedSecrets } from './installation-secrets.js';
import { writePrivately } from './private-file.js';
import { secretManifests } from './secret-manifests.js';
import { readEnvironment } from './settings.js';

const environment = z.object({
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .describe(
      'a postgres:// URL of the administrator, naming the database that it owns, as it is reached from the cluster',
    ),
  HOLDPOINT_CONFIG: z.string().min(1).optional().describe('the path of holdpoint.yaml'),
});

/** What is in a file, or undefined when there is none. */
const kept = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw err;
    return undefined;
  });

try {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('give the folder to keep them in: secrets.main.js DIR');
  const { DATABASE_URL, HOLDPOINT_CONFIG } = readEnvironment(environment, process.env);
  const dir = resolve(folder);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const [file, keyFile, signingFile, manifests] = ['secrets.json', 'master.key', 'signing.key', 'secrets.yaml'].map(
    (name) => join(dir, name),
  ) as [string, string, string, string];
  const old = storedSecrets.safeParse(JSON.parse((await kept(file)) ?? '{}'));
  if (!old.success) throw new SecretsIncomplete(`${file} holds something else than secrets: move it away or mend it`);
  const consumers = HOLDPOINT_CONFIG === undefined ? [] : readConsumers(HOLDPOINT_CONFIG);
  const secrets = completeSecrets(
    old.data,
    consumers.map((c) => c.name),
  );
  const masterKey = (await kept(keyFile)) ?? `${randomBytes(32).toString('base64')}\n`;
  const signingKey = (await kept(signingFile)) ?? newSigningKey();
  await writePrivately(keyFile, masterKey);
  await writePrivately(signingFile, signingKey);
  await writePrivately(file, `${JSON.stringify(secrets, null, 2)}\n`);
  await writePrivately(
    manifests,
    secretManifests({ databaseUrl: DATABASE_URL, secrets, masterKey, signingKey, consumers }),
  );
  console.log(`${file}: every secret, made once; keep it, and add to it by running this again`);
  console.log(`${keyFile}: the master key. Keep a copy elsewhere: without it no content can be opened again`);
  console.log(`${signingFile}: the key that signs the audit log; whoever has it can sign another history`);
  console.log(`kubectl apply -n holdpoint -f ${manifests}`);
} catch (err) {
  console.error(`no secrets were made: ${err instanceof Error ? err.message : err}`);
  process.exitCode = 1;
}
