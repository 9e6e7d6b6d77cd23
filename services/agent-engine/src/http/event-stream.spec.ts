import { Refusal } from '@holdpoint/runtime';
import { expect, it, test } from '@jest/globals';
import type { Told } from '../run/progress.js';
import { lines, wantsEvents } from './event-stream.js';

async function* given(events: (Told | null)[]) {
  yield* events;
}

const always = () => Promise.resolve();

it('is one line of data an event, whatever a text holds, and a comment for those who have heard nothing for long', async () => {
  const text = 'a\n\ndata: forged\r\u2028';
  const said: string[] = [];
  for await (const l of lines(given([{ id: 'step-1', type: 'step', step: 1, text }, null]), always, 0)) said.push(l);
  expect(said[0]).toBe(`id: step-1\nevent: step\ndata: ${JSON.stringify({ type: 'step', step: 1, text })}\n\n`);
  expect(said[0]?.split('\n')).toHaveLength(5);
  expect(said[1]).toBe(': still here\n\n');
  for await (const l of lines(given([null, null]), always)) throw new Error(`said ${l}`);
});

it('asks before each event and heartbeat whether it may still be told, and ends when it may not', async () => {
  const steps = [1, 2, 3].map((step): Told => ({ id: `step-${step}`, type: 'step', step, text: 'x' }));
  const untilThe = (nth: number) => async () => {
    if (nth-- === 0) throw new Refusal('not-found', 'auth.not-found', 'There is no such thing.');
  };
  const told = async (list: (Told | null)[], allowed: () => Promise<void>) => {
    const said: string[] = [];
    for await (const line of lines(given(list), allowed, 0)) said.push(line);
    return said;
  };
  expect(await told(steps, untilThe(0))).toEqual([]);
  expect(await told(steps, untilThe(2))).toHaveLength(2);
  expect(await told([null, null, null], untilThe(2))).toHaveLength(2);
  await expect(told(steps, () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
});

test.each([
  ['text/event-stream', true],
  ['application/json, text/event-stream;q=0.5', true],
  ['Text/Event-Stream', true],
  ['*/*', false],
  ['application/json', false],
  [undefined, false],
])('who accepts %s wants events: %s', (accept, wants) => expect(wantsEvents(accept)).toBe(wants));
