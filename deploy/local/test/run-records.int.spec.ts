import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify, type ProcessIdentity } from '@holdpoint/provision';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AlreadyRunning, claim, endOrphans, record, recorded, SUPERVISOR } from '../src/run-records.js';

let dir: string;
const started: ChildProcess[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'run-'));
});
afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  await rm(dir, { recursive: true });
});

async function sleeper(): Promise<{ child: ChildProcess; identity: ProcessIdentity }> {
  const child = spawn('sleep', ['300']);
  started.push(child);
  await once(child, 'spawn');
  return { child, identity: identify(child.pid as number) as ProcessIdentity };
}

test('one supervisor claims the folder; a second is told which process has it', async () => {
  const other = await sleeper();
  await record(dir, SUPERVISOR, other.identity);
  await expect(claim(dir)).rejects.toThrow(AlreadyRunning);
  await expect(claim(dir)).rejects.toThrow(`process ${other.child.pid}`);
  expect(await readdir(dir)).toEqual([`${SUPERVISOR}.json`]);
});

test('the claim of a dead one is taken over, also when its pid is another process by now', async () => {
  const other = await sleeper();
  await record(dir, SUPERVISOR, { ...other.identity, started: 'before' });
  await claim(dir);
  expect(await recorded(dir, SUPERVISOR)).toEqual(identify(process.pid));
});

test('orphans end, and no process that merely has the pid of one', async () => {
  const orphan = await sleeper();
  const stranger = await sleeper();
  await record(dir, 'staging', orphan.identity);
  await record(dir, 'audit', { ...stranger.identity, started: 'before' });
  const gone = once(orphan.child, 'exit');
  expect(await endOrphans(dir)).toEqual(['staging']);
  await gone;
  expect(stranger.child.exitCode ?? stranger.child.signalCode).toBeNull();
  expect(await readdir(dir)).toEqual([]);
});
