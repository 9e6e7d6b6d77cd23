import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { MODEL, startReadingModel } from './reading-model.js';
import { lastLine, type Ran, run } from './run.js';

const KEY = 'sk-demo-9f8e7d6c5b4a';

describe('OPENAI_BASE_URL=… npm run demo -- --yes', () => {
  let home: string;
  let model: Awaited<ReturnType<typeof startReadingModel>>;
  let ran: Ran;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'holdpoint-model-'));
    model = await startReadingModel();
    ran = await run('demo.js', ['--yes', '--home', home], {
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: KEY,
    });
  }, 120_000);
  afterAll(async () => {
    model.stop();
    await rm(home, { recursive: true, force: true });
  });

  it('plays the same story with a model that is not the scripted one, and exits 0', () => {
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
    expect(ran.stdout).toContain(`openai/${MODEL}`);
    // each of the four runs asks until nothing is left to call
    expect(model.asked).toHaveLength(9);
    expect(new Set(model.asked.map((a) => `${a.model} ${a.authorization}`))).toEqual(
      new Set([`${MODEL} Bearer ${KEY}`]),
    );
  });

  it('sends what that model worked out from the mail', async () => {
    const outbox = join(home, 'demo', 'outbox');
    const mails = (await readdir(outbox)).filter((n) => n.endsWith('.eml'));
    expect(mails).toHaveLength(1);
    const sent = await simpleParser(await readFile(join(outbox, mails[0] ?? '')));
    expect(sent.text).toBe('You are right: 12 × 115.00 EUR = 1380.00 EUR — a corrected invoice follows. 請查收 👩‍💼\n');
  });

  it('leaves the key in no file', async () => {
    for (const entry of await readdir(home, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) expect((await readFile(join(entry.parentPath, entry.name))).includes(KEY)).toBe(false);
  }, 60_000);
});
