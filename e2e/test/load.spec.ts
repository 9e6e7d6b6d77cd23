import { describe, expect, it } from '@jest/globals';
import type { LoadResult } from '../src/load-run.js';
import { lastLine, run } from './run.js';

describe('200 conversations at once', () => {
  it('nothing is lost, every agent is woken, and no service grows beyond its bounds', async () => {
    const ran = await run('load.js', ['--conversations', '200']);
    const result = lastLine<LoadResult>(ran);
    expect(result).toMatchObject({ held: 200, approved: 100, rejected: 100, woken: 200, lost: 0, violations: 0 });
    for (const [name, mib] of Object.entries(result.memory)) expect(`${name} ${mib < 700}`).toBe(`${name} true`);
    expect(ran.code).toBe(0);
  }, 300_000);
});
