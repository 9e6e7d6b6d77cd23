import { describe, expect, it } from '@jest/globals';
import { type CrashResult, POINTS } from '../src/crash/crash-run.js';
import { lastLine, run } from './run.js';

// Guarantee G4. `npm test` samples; `npm run test:deep` plays more seeds and every combination.
const DEEP = Boolean(process.env['HOLDPOINT_DEEP']);

const nothingWrong = { twice: 0, untrue: 0, stuck: 0, violations: 0 };

describe('two engines, one of them stopped between claim and ack', () => {
  const seeds = DEEP ? 20 : 3;
  it(`wolverine#585: kill -9 for Mail.send at every point, ${seeds} seeds: no mail twice, nothing stuck, what is in doubt is listed`, async () => {
    const ran = await run('crash.js', ['--seeds', String(seeds), '--probes', 'Mail.send', '--deaths', 'kill']);
    const result = lastLine<CrashResult>(ran);
    const crashes = seeds * POINTS.length;
    expect(result).toMatchObject({ ...nothingWrong, crashes, calls: 2 * crashes, woken: 2 * crashes });
    expect(result.inDoubt).toBeGreaterThan(0);
    expect(ran.code).toBe(0);
  }, 900_000);

  const sample = DEEP ? [] : ['--sample', '8'];
  it(`kill and freeze, every class, ${DEEP ? 'every combination' : '8 combinations of a seed'}: at most one effect each`, async () => {
    const ran = await run('crash.js', ['--seeds', '1', '--first', '11', ...sample]);
    expect(lastLine<CrashResult>(ran)).toMatchObject(nothingWrong);
    expect(ran.code).toBe(0);
  }, 1_800_000);
});
