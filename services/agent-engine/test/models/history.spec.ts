import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Turn } from '../../src/domain/conversation.js';
import { ask, modelFor } from './ask.js';
import { type Endpoint, say, startEndpoint } from './endpoint.js';
import { anthropic, openai } from './wire.js';

const call = (callId: string, providerCallId: string, input: string) => ({
  callId,
  providerCallId,
  tool: 'FileRW',
  input,
});
const result = (providerCallId: string, text: string) => ({ providerCallId, tool: 'FileRW', text });
const conversation = (
  ...rounds: { calls: ReturnType<typeof call>[]; results: ReturnType<typeof result>[] }[]
): Turn[] => [
  { role: 'user', text: 'Go.' },
  ...rounds.flatMap(({ calls, results }): Turn[] => [
    { role: 'assistant', text: '', calls },
    { role: 'tool', results },
  ]),
];

describe.each([openai, anthropic])('$format: what the model said goes back to it', (wire) => {
  let endpoint: Endpoint;
  beforeAll(async () => {
    endpoint = await startEndpoint();
  });
  afterAll(() => endpoint.stop());

  const sent = async (turns: Turn[]) => {
    endpoint.answer(say(wire, { text: 'Well.' }));
    await ask(modelFor(wire, endpoint.url), turns);
    return wire.history(endpoint.requests[0]?.body ?? '');
  };

  it('numbers digit for digit', async () => {
    const text = '{"id":9007199254740993,"a":1.0,"b":1e2,"c":-0,"d":[12345678901234567890]}';
    const { calls } = await sent(conversation({ calls: [call('own1', 'c1', text)], results: [result('c1', 'ok')] }));
    expect(calls).toEqual([{ id: 'c1', args: text }]);
  });

  it('arguments that were refused are quoted in an object, as endpoints take nothing else', async () => {
    const texts = ['{"a":1,"a":2}', 'rows: 1', 'null', '', '{"__proto__":{"x":1}}', '{"t":"\ud800"}'];
    for (const text of texts) {
      const { calls } = await sent(conversation({ calls: [call('own1', 'c1', text)], results: [result('c1', 'no')] }));
      expect(JSON.parse(calls[0]?.args ?? '')).toEqual({ unparsed: text.toWellFormed() });
    }
  });

  it('ids that begin anew in each round still pair results with calls', async () => {
    const { calls, results } = await sent(
      conversation(
        { calls: [call('own1', 'call_0', '{"n":1}')], results: [result('call_0', 'one')] },
        { calls: [call('own2', 'call_0', '{"n":2}')], results: [result('call_0', 'two')] },
      ),
    );
    expect(calls.map((c) => c.id)).toEqual(['call_0', 'own2']);
    expect(results).toEqual([
      { id: 'call_0', text: 'one' },
      { id: 'own2', text: 'two' },
    ]);
  });

  it('one id for several calls of a round, and ids that the other wire does not take', async () => {
    const { calls, results } = await sent(
      conversation({
        calls: [call('own1', 'x', '{"n":1}'), call('own2', 'x', '{"n":2}'), call('own3', 'a/b c', '{"n":3}')],
        results: [result('x', 'one'), result('x', 'two'), result('a/b c', 'three')],
      }),
    );
    expect(calls.map((c) => c.id)).toEqual(['x', 'own2', 'own3']);
    expect(results.map((r) => [r.id, r.text])).toEqual([
      ['x', 'one'],
      ['own2', 'two'],
      ['own3', 'three'],
    ]);
  });
});
