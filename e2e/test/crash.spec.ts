import { describe, expect, it } from '@jest/globals';
import { type CrashResult, POINTS } from '../src/crash/crash-run.js';
import { lastLine, run } from './run.js';

// Guarantee G4. `npm test` samples: some tools, each killed once, after its effect and before anybody noted it. `npm run test:deep`
// plays every point, kill and freeze, and 20 seeds for mail.
const DEEP = Boolean(process.env['HOLDPOINT_DEEP']);
/** One of each class that a second attempt treats in its own way. */
const SAMPLE = ['Mail.send', 'FTP.upload', 'Telegram.send_message', 'Database.insert'];
const which = DEEP ? [] : ['--points', 'effect', '--deaths', 'kill'];

const nothingWrong = { twice: 0, untrue: 0, stuck: 0, violations: 0 };

describe('two engines, one of them stopped between claim and ack', () => {
  const seeds = 20;
  if (DEEP)
    it(`wolverine#585: kill -9 for Mail.send at every point, ${seeds} seeds: no mail twice, nothing stuck, what is in doubt is listed`, async () => {
      const ran = await run('crash.js', ['--seeds', String(seeds), '--probes', 'Mail.send', '--deaths', 'kill']);
      const result = lastLine<CrashResult>(ran);
      const crashes = seeds * POINTS.length;
      expect(result).toMatchObject({ ...nothingWrong, crashes, calls: 2 * crashes, woken: 2 * crashes });
      expect(result.inDoubt).toBeGreaterThan(0);
      expect(ran.code).toBe(0);
    }, 1_800_000);

  it('a mail whose copy the provider files: killed after the effect, it is found and not sent again', async () => {
    const ran = await run('crash.js', ['--seeds', '1', '--probes', 'Mail.send-filed', ...which]);
    const result = lastLine<CrashResult>(ran);
    expect(result).toMatchObject(nothingWrong);
    // a call in doubt is one that sent nothing; a copy that was not found would count on both sides
    expect(result.effects).toBeGreaterThan(0);
    expect(result.effects + result.inDoubt).toBeLessThanOrEqual(result.calls);
    expect(ran.code).toBe(0);
  }, 900_000);

  const probes = DEEP ? ['--without', 'Mail.send-filed'] : ['--probes', SAMPLE.join(',')];
  it(`mail, FTP, Telegram and rows, ${DEEP ? 'every tool at every point, kill and freeze' : 'killed after the effect'}: at most one effect each, what is unknown is listed`, async () => {
    const ran = await run('crash.js', ['--seeds', '1', '--first', '11', ...probes, ...which]);
    const result = lastLine<CrashResult>(ran);
    expect(result).toMatchObject(nothingWrong);
    expect(result).toMatchObject({ calls: 2 * result.crashes, woken: result.calls });
    if (!DEEP) expect(result.crashes).toBe(SAMPLE.length);
    // a message that Telegram took and nobody noted cannot be looked up: only a person knows
    expect(result.inDoubt).toBeGreaterThan(0);
    expect(ran.code).toBe(0);
  }, 1_800_000);
});
