import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReplayCounts } from '../src/replay/count.js';
import { lastLine, run } from './run.js';

const suite = join(import.meta.dirname, 'cases', 'small-suite.json');

describe("other people's recorded calls through the running gate", () => {
  let dir = '';
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'holdpoint-replay-test-'));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  const replayed = async (letters: string) => {
    const policy = join(dir, 'policy.yaml');
    await writeFile(policy, JSON.stringify({ policy: { rules: [{ tool: 'send_letter', verdict: letters }] } }));
    return run('replay.js', [suite, '--policy', policy]);
  };

  it('counts what really happened: an irreversible call is held, whoever talked the agent into it', async () => {
    const ran = await replayed('approve');
    expect(lastLine<ReplayCounts>(ran)).toEqual({
      calls: 10,
      auto: 6,
      held: 4,
      denied: 0,
      held_per_user_task: 0.5,
      irreversible_before_approval: 0,
      reads_held: 0,
      reversible_by_injection: 2,
      pairs: 2,
    });
    expect(ran.code).toBe(0);
  }, 120_000);

  it('a policy that lets letters go is found out, and the exit code says so', async () => {
    const ran = await replayed('auto');
    expect(lastLine<ReplayCounts>(ran)).toMatchObject({ held: 0, irreversible_before_approval: 4 });
    expect(ran.code).toBe(1);
  }, 120_000);

  it.each([
    ['no file', join(tmpdir(), 'there-is-no-such-file'), /cannot be read/],
    ['no JSON', import.meta.filename, /is not JSON/],
  ])('%s: says what is wrong, and starts nothing', async (_name, file, told) => {
    const ran = await run('replay.js', [file, '--policy', file]);
    expect(ran.stderr).toMatch(told);
    expect(ran.code).toBe(2);
  });
});
