import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { provisionInstallation } from './installation.js';
import { provisionSettings } from './settings.js';

/** Of the checkout or image that this program, dist/src/provision.main.js, stands in. */
const ROOT = join(dirname(import.meta.dirname), '..', '..', '..');

try {
  await provisionInstallation(
    provisionSettings(process.env, (path) => readFileSync(path, 'utf8'), ROOT),
    (line) => console.log(line),
  );
  console.log('provisioned');
} catch (err) {
  console.error(`cannot provision: ${err instanceof Error ? err.message : err}`);
  process.exitCode = 1;
}
