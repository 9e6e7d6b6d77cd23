import { describe, expect, it } from '@jest/globals';
import type { LoadResult } from '../src/load-run.js';
import { lastLine, run } from './run.js';

// `npm test` samples: a quarter of the conversations that `npm run test:deep` begins
const MANY = process.env['HOLDPOINT_DEEP'] ? 200 : 50;

describe(`${MANY} conversations at once`, () => {
  it('nothing is lost, every agent is woken, and no service grows beyond its bounds', async () => {
    const ran = await run('load.js', ['--conversations', String(MANY)]);
    const result = lastLine<LoadResult>(ran);
    const counts = { held: MANY, approved: MANY / 2, rejected: MANY / 2, woken: MANY };
    expect(result).toMatchObject({ ...counts, lost: 0, violations: 0 });
    for (const [name, mib] of Object.entries(result.memory)) expect(`${name} ${mib < 700}`).toBe(`${name} true`);
    expect(ran.code).toBe(0);
  }, 300_000);
});
