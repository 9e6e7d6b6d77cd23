import { expect, it, test } from '@jest/globals';
import type { Told } from '../run/progress.js';
import { lines, wantsEvents } from './event-stream.js';

async function* given(events: (Told | null)[]) {
  yield* events;
}

it('is one line of data an event, whatever a text holds, and a comment for those who have heard nothing for long', async () => {
  const text = 'a\n\ndata: forged\r\u2028';
  const said: string[] = [];
  for await (const l of lines(given([{ id: 'step-1', type: 'step', step: 1, text }, null]), 0)) said.push(l);
  expect(said[0]).toBe(`id: step-1\nevent: step\ndata: ${JSON.stringify({ type: 'step', step: 1, text })}\n\n`);
  expect(said[0]?.split('\n')).toHaveLength(5);
  expect(said[1]).toBe(': still here\n\n');
  for await (const l of lines(given([null, null]))) throw new Error(`said ${l}`);
});

test.each([
  ['text/event-stream', true],
  ['application/json, text/event-stream;q=0.5', true],
  ['Text/Event-Stream', true],
  ['*/*', false],
  ['application/json', false],
  [undefined, false],
])('who accepts %s wants events: %s', (accept, wants) => expect(wantsEvents(accept)).toBe(wants));
