import { afterAll, describe, expect, it } from '@jest/globals';
import { Files } from './files.js';
import { Log, Signer } from './log.js';

const files = new Files();
afterAll(() => files.close());

const clean = { verdict: 'clean', exitCode: 0, findings: [], counts: {} };

/** With checkpoints at random sizes and, in some, one or two rotations of the key. */
function randomLog(seed: number) {
  const log = new Log(seed, seed % 3 === 0 ? 5000 + seed : 1);
  const size = 10 + Math.floor(log.next() * 90);
  const kept: string[] = [];
  for (let rotations = seed % 3; log.size < size; ) {
    log.fill(log.size + 1 + Math.floor(log.next() * 12));
    if (rotations > 0 && log.next() < 0.4) log.rotate(new Signer(`key ${seed}.${rotations--}`));
    if (log.next() < 0.7) kept.push(log.checkpoint());
  }
  kept.push(log.checkpoint());
  return { log, kept };
}

describe('a clean log is never accused (G9)', () => {
  // 20 logs with every kind of story, duplicates, unreadable messages, erasures; each whole, filtered, and in part
  it.each(Array.from({ length: 20 }, (_, i) => i))('random log %i', async (seed) => {
    const { log, kept } = randomLog(seed);
    const whole = await files.check(log.export(), { kept });
    expect(whole).toMatchObject({ ...clean, events: log.size, origin: 'holdpoint.local/0123abcd', whole: true });
    expect(whole.checkpoints).toEqual({ own: log.checkpoints.length, kept: kept.length });

    const keep = () => log.next() < 0.4;
    const sizes = log.checkpoints.map((c) => c.size).filter((n) => n < log.size);
    const filtered = log.export({ keep, older: [...new Set(sizes)] });
    expect(await files.check(filtered, { kept })).toMatchObject({ ...clean, whole: false });
    const [from, to] = [Math.floor(log.size / 3), log.size - 1];
    expect(await files.check(log.export({ from, to }))).toMatchObject(clean);
  });

  it('that was exported earlier is the beginning of what it has become', async () => {
    const log = new Log(99).fill(20);
    log.checkpoint();
    const against = log.export();
    log.fill(33).checkpoint();
    expect(await files.check(log.export(), { against })).toMatchObject({ ...clean, checkpoints: { own: 2, kept: 1 } });
  });

  it('for whoever was given the later key alone', async () => {
    const log = new Log(7).fill(10);
    log.checkpoint();
    log.rotate(new Signer('second'));
    log.fill(20).checkpoint();
    const report = await files.check(log.export(), { keys: [log.signer.vkey] });
    expect(report).toMatchObject(clean);
    expect(report.remarks).toContain(
      '1 checkpoint is signed by an earlier key that you did not give, and not checked.',
    );
  });
});
