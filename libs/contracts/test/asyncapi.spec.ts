import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Parser } from '@asyncapi/parser';
import { expect, test } from '@jest/globals';
import { asyncApi } from '../src/generate/asyncapi.js';
import { eventTypes } from '../src/index.js';

const ERROR = 0;
const errorsOf = async (document: object) => {
  const { diagnostics } = await new Parser().parse(JSON.stringify(document));
  return diagnostics.filter((d) => d.severity === ERROR).map((d) => `${d.path.join('.')}: ${d.message}`);
};

test('the committed AsyncAPI document is sound, and has every event as a channel, a message and an operation of its publisher', async () => {
  const file = join(import.meta.dirname, '..', 'generated', 'asyncapi.json');
  const { document, diagnostics } = await new Parser().parse(readFileSync(file, 'utf8'));
  expect(diagnostics.filter((d) => d.severity === ERROR)).toEqual([]);
  expect(
    document
      ?.channels()
      .all()
      .map((c) => c.id()),
  ).toEqual(eventTypes);
  expect(
    document
      ?.messages()
      .all()
      .map((m) => m.name()),
  ).toEqual(eventTypes);
  const sent = document?.operations().filterBySend();
  expect(sent?.map((o) => o.channels().all()[0]?.id()).sort()).toEqual([...eventTypes].sort());
});

test('a document that is not sound is found out', async () => {
  const document = asyncApi() as { channels: Record<string, { messages: object }> };
  const channel = document.channels['tool.proposed'];
  if (channel) channel.messages = { gone: { $ref: '#/components/messages/gone' } };
  expect((await errorsOf(document)).join('\n')).toContain('tool.proposed');
});
