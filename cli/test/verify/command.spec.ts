import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { run } from '../../verify/holdpoint-verify.mjs';
import { Files } from './files.js';
import { copyOf, type Line, Log, Signer } from './log.js';

const files = new Files();
afterAll(() => files.close());

const log = new Log(1).fill(30);
log.checkpoint();
const { vkey } = new Signer('first');
const clean = files.write(log.export());
const checkpoint = files.write(log.checkpoints[0]?.note as string);

/** The file alone, as an auditor keeps it: copied to where nothing of this repository is. */
const standalone = join(files.dir, 'holdpoint-verify.mjs');
cpSync(join(import.meta.dirname, '../../verify/holdpoint-verify.mjs'), standalone);
const start =
  (program: string[]) =>
  (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...program, ...args], {
      encoding: 'utf8',
      cwd: files.dir,
    });
    return { status, stdout, stderr };
  };
const alone = start([standalone]);
const command = start([join(import.meta.dirname, '../../dist/src/main.js'), 'audit', 'verify']);

/** Clears the screen, hides, turns text round, ends lines, and rings the bell. */
const HOSTILE = '\u001b[2J\u009b31m\u202e\u200b\u2028\u0007\r\n"\\CLEAN';
const UNSAFE = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/u;

it.each([
  ['the file alone', alone],
  ['the command', command],
])('%s exits with 0, 1 or 2 and says why', (_what, run) => {
  const good = run(clean, '--key', files.write(`${vkey}\n`), '--checkpoint', checkpoint);
  expect(good).toMatchObject({ status: 0, stderr: '' });
  expect(good.stdout).toMatch(/\nCLEAN: it is what was signed, and goes on from what you kept\.\n$/);
  const cut = run(files.write(log.export().slice(0, -1)), '--key', vkey, '--json');
  expect(cut).toMatchObject({ status: 1, stderr: '' });
  expect(JSON.parse(cut.stdout)).toMatchObject({ verdict: 'found', exitCode: 1, counts: { 'file-cut-off': 1 } });
});

it('without a kept checkpoint it says how far that goes; a file that is not there it cannot check', async () => {
  const say = async (file: string, keys = [vkey]) => {
    let text = '';
    const code = await run({ file, keys }, (t) => (text += t));
    return [code, text];
  };
  expect(await say(clean)).toEqual([0, expect.stringMatching(/CLEAN, as far as it goes/)]);
  expect(await say(clean, [])).toEqual([2, expect.stringMatching(/CANNOT CHECK: No key was given\./)]);
  expect(await say(join(files.dir, 'absent'))).toEqual([2, expect.stringMatching(/CANNOT CHECK: .*ENOENT/)]);
});

it('shows nothing of the export that could steer a terminal or pass for a line of its own', async () => {
  const tampers: ((lines: Line[]) => void)[] = [
    (l) => Object.assign(l[0] as Line, { origin: HOSTILE.replace(/[\s"\\\p{Z}]/gu, '') }),
    (l) => Object.assign(l[0] as Line, { origin: HOSTILE }),
    (l) => Object.assign(l[1] as Line, { kind: HOSTILE }),
    (l) => Object.assign(l[1] as Line, { [HOSTILE]: 1 }),
    (l) => Object.assign(l[1] as Line, { subject: HOSTILE, fault: 'not-json' }),
    (l) => Object.assign(l.find((x) => x.kind === 'entry') as Line, { note: HOSTILE, tool: HOSTILE }),
    (l) => Object.assign(l.at(-2) as Line, { note: String(l.at(-2)?.['note']).replace('0123', HOSTILE) }),
  ];
  for (const tamper of tampers) {
    const lines = copyOf(log.export());
    tamper(lines);
    for (const json of [false, true]) {
      let shown = '';
      const code = await run({ file: files.write(lines), keys: [vkey], json }, (text) => (shown += text));
      expect([UNSAFE.test(shown), /^\s*"?\\?CLEAN/m.test(shown)]).toEqual([false, false]);
      expect(code).not.toBe(0);
    }
  }
});
