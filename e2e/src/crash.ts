import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type CrashOptions, crashRun, DEATHS, POINTS, type Point } from './crash/crash-run.js';

// npm run crash -- --seeds N [--first SEED] [--probes A,B] [--without A,B] [--points claim,ack] [--deaths kill,freeze] [--sample N]
// Kills or freezes the engine at every point between claim and ack, and counts the effects at the remote ends.
const text = (fallback?: string) => ({
  type: 'string' as const,
  ...(fallback === undefined ? {} : { default: fallback }),
});
const { values } = parseArgs({
  options: {
    seeds: text('1'),
    first: text('1'),
    probes: text(),
    without: text(),
    points: text(),
    deaths: text(),
    sample: text(),
  },
});
const [seeds, first] = [Number(values.seeds), Number(values.first)];
const deaths = values.deaths?.split(',') as CrashOptions['deaths'];
const points = values.points?.split(',') as Point[] | undefined;
const unknown = deaths?.some((d) => !DEATHS.includes(d)) || points?.some((p) => !POINTS.includes(p));
if (!Number.isInteger(seeds) || seeds < 1 || !Number.isInteger(first) || unknown) {
  console.error(
    'Type: npm run crash -- --seeds N [--first SEED] [--probes A,B] [--without A,B] [--points claim,ack] [--deaths kill,freeze] [--sample N]',
  );
  process.exit(2);
}
const home = await mkdtemp(join(tmpdir(), 'holdpoint-crash-'));
// PostgreSQL does not run as root: its user has to get through to its own folder
await chmod(home, 0o711);
try {
  const result = await crashRun({
    home,
    seeds: Array.from({ length: seeds }, (_, i) => first + i),
    ...(values.probes === undefined ? {} : { probes: values.probes.split(',') }),
    ...(values.without === undefined ? {} : { without: values.without.split(',') }),
    ...(points === undefined ? {} : { points }),
    ...(deaths === undefined ? {} : { deaths }),
    ...(values.sample === undefined ? {} : { sample: Number(values.sample) }),
    say: console.error,
  });
  console.log(JSON.stringify(result));
  const { twice, untrue, stuck, violations } = result;
  process.exitCode = twice + untrue + stuck + violations === 0 ? 0 : 1;
} finally {
  await rm(home, { recursive: true, force: true });
}
