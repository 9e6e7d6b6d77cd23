import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Decision, decisionOf } from '../src/person.js';
import { lastLine, type Ran, run } from './run.js';

describe('npm run demo -- --yes', () => {
  let home: string;
  let ran: Ran;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'holdpoint-demo-'));
    ran = await run('demo.js', ['--yes', '--home', home], { HOLDPOINT_HOME: '/proc/of-no-account' });
  }, 120_000);
  afterAll(() => rm(home, { recursive: true, force: true }));

  it('plays the story, checks it, and exits 0', () => {
    expect(`${ran.code} ${ran.stderr}`).toBe('0 ');
    expect(lastLine(ran)).toEqual({
      proposed: 5,
      auto: 3,
      held: 2,
      approved: 1,
      rejected: 1,
      executed: 4,
      woken: 2,
      receipts: 4,
    });
  });

  it('leaves no plaintext of arguments, results, prompts or reasons in the files of stream, database and logs', async () => {
    const secrets = {
      prompt: 'look through the inbox',
      argument: 'The corrected invoice is on its way',
      'big integer': '9007199254740993',
      'auto argument': 'A mail of mine was released by a person',
      'result of a read': 'Three things worth knowing this week',
      'result of a query': '"ordered":1380.00',
      'result of an execution': 'The server answered',
      reason: 'We stay subscribed.',
    };
    const stores = ['nats', 'postgres', 'logs', 'run'];
    const found = (await Promise.all(stores.map((store) => search(join(home, store), Object.values(secrets))))).flat();
    expect(found).toEqual([]);

    // the search can find: metadata stands plain in both stores, and the tools' own outputs hold the argument
    expect(await search(join(home, 'nats'), ['tool.proposed'])).not.toEqual([]);
    expect(await search(join(home, 'postgres'), ['tool.proposed'])).not.toEqual([]);
    expect(await search(join(home, 'demo'), [secrets.argument])).not.toEqual([]);
  });
});

describe('npm run demo', () => {
  it('nobody at OPENAI_BASE_URL: said at once, and nothing is started', async () => {
    const ran = await run('demo.js', ['--yes'], { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('OPENAI_BASE_URL') });
  });

  it.each<[string, Decision | undefined]>([
    ['approve', { decision: 'approve' }],
    [' approve ', { decision: 'approve' }],
    ['reject', { decision: 'reject' }],
    ['reject  not like this ', { decision: 'reject', reason: 'not like this' }],
    ['approve it', undefined],
    ['approved', undefined],
    ['', undefined],
  ])('takes %j for %j', (line, decision) => {
    expect(decisionOf(line)).toEqual(decision);
  });
});

/** Files below the folder whose raw bytes hold one of the texts: plain, as UTF-16, or inside base64 at any alignment. */
async function search(folder: string, texts: string[]): Promise<string[]> {
  const needles = texts.flatMap((t) =>
    [Buffer.from(t), Buffer.from(t, 'utf16le'), ...base64(t)].map((bytes) => ({ t, bytes })),
  );
  const hits: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    for (const n of needles) if (bytes.includes(n.bytes)) hits.push(`${path}: ${n.t}`);
  }
  return hits;
}

function base64(text: string): Buffer[] {
  return [0, 1, 2].flatMap((shift) => {
    const whole = Buffer.concat([Buffer.alloc(shift), Buffer.from(text)]);
    const inner = (encoding: 'base64' | 'base64url') =>
      Buffer.from(whole.toString(encoding).slice(shift === 0 ? 0 : 4, Math.floor(whole.length / 3) * 4));
    return [inner('base64'), inner('base64url')];
  });
}
