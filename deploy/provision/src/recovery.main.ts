import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OWNER_ROLE, SERVICES } from './names.js';
import { recover, recoverySettings, USAGE } from './recovery/command.js';
import { databaseUrl } from './roles.js';

/** Of the checkout or image that this program, dist/src/recovery.main.js, stands in. */
const ROOT = join(dirname(import.meta.dirname), '..', '..', '..');

try {
  const {
    databaseUrl: url,
    database,
    secrets,
    natsUrl,
  } = recoverySettings(process.env, (path) => readFileSync(path, 'utf8'));
  const found = await recover(process.argv.slice(2), SERVICES, {
    ownerUrl: databaseUrl(url, database, { role: OWNER_ROLE, password: secrets.database.owner }),
    bus: natsUrl === undefined ? null : { servers: natsUrl, password: secrets.bus.hub },
    root: ROOT,
    say: (line) => console.log(line),
  });
  if (found === null) console.error(USAGE);
  process.exitCode = found === null ? 2 : found > 0 ? 1 : 0;
} catch (err) {
  console.error(`cannot recover: ${err instanceof Error ? err.message : err}`);
  process.exitCode = 1;
}
