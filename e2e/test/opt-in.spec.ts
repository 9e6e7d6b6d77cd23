import { expect, it } from '@jest/globals';
import { lastLine, run } from './run.js';

// Seed 001 from end to end: the folder's files are counted on the disk, verdicts and outcomes in the stream.

it('npm run demo -- --yes --story opt-in: refused, opted in, executed, revoked, refused again', async () => {
  const ran = await run('demo.js', ['--yes', '--story', 'opt-in']);
  expect(`${ran.code} ${ran.stderr}`).toBe('0 ');
  expect(lastLine(ran)).toEqual({
    refused: 1,
    optedIn: 1,
    executed: 1,
    revoked: 1,
    refusedAgain: 1,
    filesDeleted: 3,
    filesKept: 1,
  });
}, 240_000);
