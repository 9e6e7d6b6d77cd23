import { join } from 'node:path';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { expect, it } from '@jest/globals';
import { words } from '../../src/domain/words.js';
import { ScriptedModel } from '../../src/models/scripted.js';

const model = new ScriptedModel(join(import.meta.dirname, '../../../../demo/assistant.yaml'));
type WakeUp = Parameters<typeof words.en.wakeUp>[0];

async function callsAfter(tool: string, action: string, more: Partial<WakeUp>): Promise<number> {
  const woken = { callId: 'c1', number: 1, tool, action, outcome: 'executed', status: 'Ok', ...more } as WakeUp;
  const text = words.en.wakeUp(woken, 'acme', 'Wrote notes/sent.txt of the inbox.', null);
  const prompt: LanguageModelV4CallOptions['prompt'] = [{ role: 'user', content: [{ type: 'text', text }] }];
  const { stream } = await model.doStream({ prompt });
  let calls = 0;
  for await (const part of stream) if (part.type === 'tool-call') calls += 1;
  return calls;
}

it('the agent of the demo makes a note of a mail that went out, and none of the note', async () => {
  expect(await callsAfter('Mail', 'send', {})).toBe(1);
  expect(await callsAfter('FileRW', 'write', {})).toBe(0);
  expect(await callsAfter('Mail', 'send', { status: 'Error' })).toBe(0);
  expect(await callsAfter('FileRW', 'write', { outcome: 'rejected' })).toBe(0);
});
