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

  it('a mail whose copy the provider files: killed after the effect, it is found and not sent again', async () => {
    const which = DEEP ? [] : ['--points', 'effect', '--deaths', 'kill'];
    const ran = await run('crash.js', ['--seeds', '1', '--probes', 'Mail.send-filed', ...which]);
    const result = lastLine<CrashResult>(ran);
    expect(result).toMatchObject(nothingWrong);
    // a call in doubt is one that sent nothing; a copy that was not found would count on both sides
    expect(result.effects).toBeGreaterThan(0);
    expect(result.effects + result.inDoubt).toBeLessThanOrEqual(result.calls);
    expect(ran.code).toBe(0);
  }, 900_000);

  it('killed after the claim and after the effect of Telegram.send_message: no message twice', async () => {
    const only = ['--probes', 'Telegram.send_message', '--deaths', 'kill', '--sample', '2'];
    const result = lastLine<CrashResult>(await run('crash.js', ['--seeds', '1', '--first', '10', ...only]));
    expect(result).toMatchObject({ ...nothingWrong, crashes: 2, calls: 4, woken: 4 });
    expect(result.inDoubt).toBeGreaterThan(0);
  }, 300_000);

  // every class is also that of another probe; a further system takes its time
  const sample = DEEP ? [] : ['--sample', '8', '--without', 'Mail.send-filed'];
  it(`kill and freeze, every class, ${DEEP ? 'every combination' : '8 combinations of a seed'}: at most one effect each`, async () => {
    const ran = await run('crash.js', ['--seeds', '1', '--first', '11', ...sample]);
    expect(lastLine<CrashResult>(ran)).toMatchObject(nothingWrong);
    expect(ran.code).toBe(0);
  }, 1_800_000);
});
