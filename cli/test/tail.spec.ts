import { schemaUri, type ToldEvent } from '@holdpoint/contracts';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Installation } from './holdpoint.js';

let at: Installation;
beforeAll(async () => {
  at = await Installation.open();
});
afterAll(() => at.close());
beforeEach(() => {
  at.asked.length = 0;
  at.answers.clear();
});

const HOSTILE = '\u001b[2J\u009b31m\u202e\u2028\r\nforged';
const told = (seq: number, words = `words ${seq}`): ToldEvent => ({
  seq,
  words,
  event: {
    specversion: '1.0',
    id: `event${seq}`,
    type: 'tool.started',
    source: '/holdpoint/agent-engine',
    subject: 'call-1234567',
    time: '2030-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    dataschema: schemaUri('tool.started', 1),
    spaceid: 'acme',
    data: { hostile: HOSTILE, result: { sealed: true } },
  },
});
const block = (t: ToldEvent) => `id: ${t.seq}\nevent: ${t.event.type}\ndata: ${JSON.stringify(t)}\n\n`;
const type = 'text/event-stream; charset=utf-8';
const gone = {
  status: 404,
  json: { type: 'about:blank', title: 'Not Found', status: 404, code: 'auth.not-found', detail: 'No such space.' },
};

/** Each connection is answered with the next of these; then access is gone. */
function answers(...texts: string[]) {
  at.answers.set('GET /v1/events', () => {
    const text = texts.shift();
    return text === undefined ? gone : { type, text };
  });
}

it('comes back from where the connection broke, also from where nothing was told, and ends when it is refused', async () => {
  answers(`: still here\nid: 4\n\n${block(told(7))}id: 8\ndata: {"cut`, ': still here\nid: 9\n\n');
  const ended = await at.holdpoint('tail', '--space', 'acme', '--type', 'tool', '--since', '3');
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/^ +7 {2}2030-01-01T00:00:00.000Z {2}tool.started +acme call …234567 +words 7\n$/);
  expect(ended.stderr).toContain('No such space.');
  expect(at.asked.map((a) => [a.url, a.lastEventId])).toEqual([
    ['/v1/events?space=acme&type=tool&since=3', undefined],
    ['/v1/events?space=acme&type=tool&since=3', '7'],
    ['/v1/events?space=acme&type=tool&since=3', '9'],
  ]);
});

it('shows nothing that could steer a terminal or forge a line', async () => {
  answers(block(told(7, `words${HOSTILE}`)));
  const { stdout } = await at.holdpoint('tail');
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  expect(stdout).not.toMatch(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/u);
});

it('with --json, one document a line, in ASCII', async () => {
  answers(block(told(7)) + block(told(8)));
  const { stdout } = await at.holdpoint('tail', '--json');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point
  expect(stdout).toMatch(/^[\x0a\x20-\x7e]*$/);
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([told(7), told(8)]);
});

it('refuses what is no number, asks by id for a call by number, and says so when nothing runs', async () => {
  expect(await at.holdpoint('tail', '--since', 'x')).toMatchObject({ code: 2 });
  at.answers.set('GET /v1/approvals', { json: { items: [] } });
  expect(await at.holdpoint('tail', '--call', 'acme#1')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('acme#1'),
  });
  expect(await at.holdpoint('tail', '--run', 'A B')).toMatchObject({ code: 2 });
  expect(at.asked.some((a) => a.url.startsWith('/v1/events'))).toBe(false);
});
