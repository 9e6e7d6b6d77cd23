import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkStream, type EventData } from '@holdpoint/contracts';
import { toolId } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { startEngine, type TestEngine } from './engine.js';

// Which tools the agents of a space have, as policy and people learn of it.

let engine: TestEngine;
beforeAll(async () => {
  engine = await startEngine({ script: 'scripts: []\n' });
});
afterAll(() => engine.stop());

interface Message {
  seq: number;
  subject: string;
  json: { subject: string; spaceid: string; data: EventData<'tool.announced'> };
}

/** Everything that was announced, once all of it is in the stream, in its order. */
const announced = (): Promise<Message[]> =>
  eventually(async () => {
    const { rows } = await sql<{ seq: number | null; subject: string; body: string }>`
      SELECT seq, subject, body FROM outbox WHERE subject LIKE 'tool.announced.%' ORDER BY seq`.execute(engine.db);
    return rows.map(({ seq, subject, body }) => {
      if (seq === null) throw new Error(`${subject} is not sent yet`);
      return { seq, subject, json: JSON.parse(body) as Message['json'] };
    });
  });
const inShort = (messages: Message[]) =>
  messages
    .map(({ json: { spaceid, data } }) => `${spaceid} ${data.tool} ${data.withdrawn ? 'withdrawn' : data.agents}`)
    .sort();
const declare = (agents: Record<string, [space: string, tools: string]>) =>
  writeFile(
    join(engine.home, 'holdpoint.yaml'),
    `agents:\n${Object.entries(agents)
      .map(
        ([name, [space, tools]]) =>
          `  ${name}: {space: ${space}, model: scripted, script: script.yaml, tools: [${tools}]}\n`,
      )
      .join('')}`,
  );

it('the first engine announces each tool of each space, with what a person has to know about its actions', async () => {
  const found = await announced();
  expect(inShort(found)).toEqual(['acme FileRW helper', 'acme Mail helper']);
  const files = found.find((m) => m.json.data.tool === 'FileRW')?.json;
  expect(files?.subject).toBe(toolId('builtin', 'FileRW'));
  expect(files?.data).toMatchObject({
    server: 'builtin',
    origin: 'builtin',
    description: expect.stringContaining('Text files of one workspace folder'),
    affectedData: "Files and folders in the agent's workspace",
    agents: ['helper'],
  });
  expect(files?.data.actions.map((a) => `${a.name} ${a.hint}`)).toEqual([
    'read read',
    'list read',
    'write write',
    'delete write',
    'purge_folder destructive',
  ]);
});

it('two engines that start at once announce each change once, and what no agent has any more is withdrawn', async () => {
  const before = (await announced()).length;
  await declare({ helper: ['acme', 'FileRW'], clerk: ['acme', 'FileRW'], scout: ['other', 'Mail'] });
  await Promise.all([engine.another(), engine.another()]);
  const all = await announced();
  expect(inShort(all.slice(before))).toEqual(['acme FileRW clerk,helper', 'acme Mail withdrawn', 'other Mail scout']);
  const withdrawn = all.find((m) => m.json.data.withdrawn)?.json;
  expect(withdrawn?.data).toMatchObject({
    tool: 'Mail',
    agents: [],
    actions: [{ name: 'send' }, { name: 'read_inbox' }],
  });
});

it('what has not changed is not announced again, and what comes back is', async () => {
  const before = (await announced()).length;
  await engine.another();
  expect(await announced()).toHaveLength(before);
  await declare({ helper: ['acme', 'FileRW, Mail'], clerk: ['acme', 'FileRW'], scout: ['other', 'Mail'] });
  await engine.another();
  const all = await announced();
  expect(inShort(all.slice(before))).toEqual(['acme Mail helper']);
  expect(checkStream(all, { settled: true }).violations).toEqual([]);
});
