import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { Files } from './files.js';
import { copyOf, type Line, Log, Signer } from './log.js';

const files = new Files();
afterAll(() => files.close());

const example = join(import.meta.dirname, '../../../docs/examples/verify_export.py');

it('the example in Python agrees, and finds what was altered', () => {
  const log = new Log(3, 9).fill(20);
  log.checkpoint();
  log.rotate(new Signer('second'));
  log.fill(37).checkpoint();
  const { vkey } = new Signer('first');
  const check = (lines: Line[]) => {
    const { status, stdout, stderr, error } = spawnSync('python3', [example, files.write(lines), vkey], {
      encoding: 'utf8',
    });
    if (error) throw error;
    return { status, text: stdout + stderr };
  };
  const root = log.text().split('\n')[2];
  const clean = log.export();
  expect(check(clean)).toEqual({ status: 0, text: `CLEAN: 37 events, 3 checkpoints, root ${root}\n` });

  const altered = (change: (lines: Line[]) => unknown) => {
    const lines = copyOf(clean);
    change(lines);
    return check(lines);
  };
  const event = (lines: Line[]) => lines.find((l) => l.kind === 'event' && 'body' in l) as Line;
  expect(altered((l) => Object.assign(event(l), { body: 'x' }))).toMatchObject({
    status: 1,
    text: expect.stringMatching(/signed at size 20/),
  });
  const forged = (l: Line[]) => String(l.at(-2)?.['note']).replace('first 9', 'first 8');
  expect(altered((l) => Object.assign(l.at(-2) as Line, { note: forged(l) }))).toMatchObject({
    status: 1,
    text: expect.stringMatching(/a signature is wrong/),
  });
});
