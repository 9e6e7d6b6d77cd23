import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startStack } from '../src/index.js';
import { program } from '../src/repository.js';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'holdpoint-'));
  await chmod(home, 0o711);
});
afterAll(() => rm(home, { recursive: true, force: true }), 60_000);

function start(env: Record<string, string>): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [program('main.js')], {
    env: { ...process.env, HOLDPOINT_HOME: home, HOLDPOINT_PORTS: 'free', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
    });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...said })));
}

test('a service that does not take a setting ends the start, in its own words', async () => {
  const { code, stdout, stderr } = await start({ POLICY_MODE: 'logonly' });
  expect(code).toBe(1);
  expect(stdout).not.toMatch(/^ready|policy ended/m);
  expect(stderr.trimEnd().split('\n')).toEqual([
    expect.stringContaining('Holdpoint cannot start: policy is configured wrongly'),
    '    fatal: the configuration is wrong: POLICY_MODE is not valid: it must be enforce or log-only',
  ]);
}, 120_000);

test('a home that cannot be made ends the start at once', async () => {
  const { code, stderr } = await start({ HOLDPOINT_HOME: '/proc/x' });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Holdpoint cannot start: HOLDPOINT_HOME \(\/proc\/x\) cannot be used \(ENOENT\): .*\n$/);
});

// a whole system for two lines: in `npm run test:deep`
if (process.env['HOLDPOINT_DEEP'])
  test('the banner tells how to find this home, and that nothing is held in log-only mode', async () => {
    const stack = await startStack({ home, env: { POLICY_MODE: 'log-only' } });
    await stack.stop();
    expect(stack.output()).toContain(
      `In another terminal:  HOLDPOINT_HOME=${home} npm run --silent holdpoint -- --help`,
    );
    expect(stack.output()).toContain('LOG-ONLY MODE: nothing is held');
  }, 120_000);
