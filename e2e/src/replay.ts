import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { replay } from './replay/replay-run.js';
import { readSuites } from './replay/suite.js';

// npm run replay -- FILE --policy FILE [--pairs N]: recorded calls of other people's suites through the running gate.
const USAGE = 'Type: npm run replay -- FILE --policy FILE [--pairs N]   (see docs/replay.md)';
const { values, positionals } = (() => {
  try {
    return parseArgs({ allowPositionals: true, options: { policy: { type: 'string' }, pairs: { type: 'string' } } });
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exit(2);
  }
})();
const pairs = values.pairs === undefined ? undefined : Number(values.pairs);
const [file] = positionals;
if (
  positionals.length !== 1 ||
  file === undefined ||
  values.policy === undefined ||
  !(pairs === undefined || (Number.isInteger(pairs) && pairs >= 0))
) {
  console.error(USAGE);
  process.exit(2);
}

const from = performance.now();
const home = await mkdtemp(join(tmpdir(), 'holdpoint-replay-'));
await chmod(home, 0o711); // the user postgres gets through to its own folder
try {
  const suites = await readSuites(resolve(file));
  const { counts, refused } = await replay({
    home,
    suites,
    file: resolve(file),
    policy: resolve(values.policy),
    pairs,
    say: console.error,
  });
  for (const line of refused) console.error(line);
  console.error(`${counts.calls} calls in ${((performance.now() - from) / 1000).toFixed(1)} s`);
  console.log(JSON.stringify(counts));
  process.exitCode = counts.irreversible_before_approval + counts.reads_held + refused.length > 0 ? 1 : 0;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
} finally {
  await rm(home, { recursive: true, force: true });
}
