import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { crashRun } from './crash-run.js';

// npm run crash -- --seeds N [--first SEED]: kills the engine at every point between claim and ack, and counts the mails.
const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '3' }, first: { type: 'string', default: '1' } },
});
const [seeds, first] = [Number(values.seeds), Number(values.first)];
if (!Number.isInteger(seeds) || seeds < 1 || !Number.isInteger(first)) {
  console.error('Type: npm run crash -- --seeds N [--first SEED], with whole numbers and N at least 1.');
  process.exit(2);
}
const home = await mkdtemp(join(tmpdir(), 'holdpoint-crash-'));
// PostgreSQL does not run as root: its user has to get through to its own folder
await chmod(home, 0o711);
try {
  const result = await crashRun({
    home,
    seeds: Array.from({ length: seeds }, (_, i) => first + i),
    say: console.error,
  });
  console.log(JSON.stringify(result));
  process.exitCode = result.twice === 0 && result.stuck === 0 && result.violations === 0 ? 0 : 1;
} finally {
  await rm(home, { recursive: true, force: true });
}
