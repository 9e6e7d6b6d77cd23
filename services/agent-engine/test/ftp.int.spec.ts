import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FtpServer, startFtp } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, stagingOf, verdictOn } from './events.js';
import { play, scriptOf } from './script.js';

describe('an upload by FTP, through the engine', () => {
  let engine: TestEngine;
  let server: FtpServer;
  beforeAll(async () => {
    server = await startFtp();
    engine = await startEngine({
      tools: ['FTP'],
      env: { FTP_URL: server.url },
      script: scriptOf({ upload: play('FTP', '{"action":"upload","path":"May report.csv","content":"a;1\\r\\n"}') }),
    });
  }, 60_000);
  afterAll(async () => {
    await engine?.stop();
    await server?.stop();
  });
  const renamed = async () => (await server.log()).filter((l) => l.startsWith('250 RNTO ')).length;

  it('is held, shown, released, and done once', async () => {
    const runId = await engine.run('upload');
    const callId = (await engine.calls(runId))[0] as string;
    const proposal = await engine.stored('tool.proposed', callId);
    await engine.as.policy.publish(verdictOn(proposal, 'approve'));
    await engine.as.staging.publish(stagingOf(proposal, 1));
    await engine.ended(runId);
    const { body } = await engine.ask('GET', `/v1/calls/${callId}/preview?space=acme`);
    expect(body['preview']).toEqual({
      kind: 'file',
      path: 'May report.csv',
      before: null,
      after: { bytes: 5, text: 'a;1\r\n', cut: false },
    });
    expect([await renamed(), await readdir(server.root)]).toEqual([0, []]);

    await engine.as.staging.publish(approvalOf(proposal));
    const { event } = await engine.stored('tool.executed', callId);
    expect(event.data).toMatchObject({ status: 'Ok', held: true, attempt: 1 });
    expect(await readFile(join(server.root, 'May report.csv'), 'utf8')).toBe('a;1\r\n');
    expect([await renamed(), await readdir(server.root)]).toEqual([1, ['May report.csv']]);
  }, 60_000);
});
