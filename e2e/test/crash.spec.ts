import { describe, expect, it } from '@jest/globals';
import { CALLS, type CrashResult, POINTS } from '../src/crash-run.js';
import { lastLine, run } from './run.js';

// Guarantee G4 for Mail.send. `npm test` samples 3 seeds, `npm run test:deep` plays 20.
const SEEDS = process.env['HOLDPOINT_DEEP'] ? 20 : 3;

describe('kill -9 at claim, effect, result, publish and ack', () => {
  it(`${SEEDS} seeds: no mail twice, nothing stuck, what is in doubt is listed`, async () => {
    const ran = await run('crash.js', ['--seeds', String(SEEDS)]);
    const result = lastLine<CrashResult>(ran);
    expect(result).toMatchObject({ twice: 0, stuck: 0, violations: 0 });
    expect(result.calls).toBe(SEEDS * CALLS);
    expect(result.crashes).toBe(SEEDS * POINTS.length);
    expect(result.woken).toBe(result.calls);
    expect(result.inDoubt).toBeGreaterThan(0);
    expect(ran.code).toBe(0);
  }, 600_000);
});
