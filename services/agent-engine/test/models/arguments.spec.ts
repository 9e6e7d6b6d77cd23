import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, failureFrom, modelFor } from './ask.js';
import { type Endpoint, raw, say, startEndpoint } from './endpoint.js';
import { anthropic, openai } from './wire.js';

const TEXTS = {
  'a big integer': '{"id":9007199254740993}',
  'numbers as they are spelled': '{"a":1.0,"b":1e2,"c":-0,"d":0.1000}',
  'the order of keys': '{"z":1,"10":2,"2":3,"a":4}',
  'a key twice': '{"path":"a","path":"b"}',
  whitespace: ' {\n\t"a" :  1 }\r\n',
  'characters of several bytes': '{"name":"Zoë 𝒳 日本 👩‍👩‍👧"}',
  escapes: '{"t":"\\u00e9\\ud83d\\ude00\\n\\"\\\\ \\/"}',
  'half a surrogate pair': '{"t":"\\ud800"}',
  'a raw control character': '{"t":"a\nb"}',
  __proto__: '{"__proto__":{"a":1},"constructor":{"prototype":1}}',
  'two objects': '{"a":1}{"b":2}',
  'no JSON at all': 'rows: + json.dumps([1,2])',
  'half an object': '{"a":',
  null: 'null',
};

/** Every cut after the third character, so that escapes and surrogate pairs fall apart. */
const cut = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));

describe.each([openai, anthropic])('$format: arguments arrive as the wire carried them', (wire) => {
  let endpoint: Endpoint;
  beforeAll(async () => {
    endpoint = await startEndpoint();
  });
  afterAll(() => endpoint.stop());

  it.each(Object.entries(TEXTS))('%s', async (_what, text) => {
    for (const size of [1, 3, text.length]) {
      const calls = [{ id: 'c1', tool: 'FileRW', fragments: cut(text, size) }];
      endpoint.answer(say(wire, { text: 'I act.', calls }));
      const round = await ask(modelFor(wire, endpoint.url));
      expect(round.calls).toEqual([
        { providerCallId: 'c1', tool: 'FileRW', input: text, providerExecuted: false, cutOff: false },
      ]);
      expect(round.text).toBe('I act.');
    }
  });

  it('whatever the pieces in which the bytes come, also inside a character', async () => {
    const text = TEXTS['characters of several bytes'];
    for (const sizes of [[1], [2, 3], [7, 1, 5]]) {
      endpoint.answer(say(wire, { calls: [{ id: 'c1', tool: 'FileRW', fragments: [text] }] }, sizes));
      expect((await ask(modelFor(wire, endpoint.url))).calls[0]?.input).toBe(text);
    }
  });

  it('none at all stay none: {} is never written in their place', async () => {
    endpoint.answer(say(wire, { calls: [{ id: 'c1', tool: 'FileRW', fragments: [] }] }));
    expect((await ask(modelFor(wire, endpoint.url))).calls[0]?.input).toBe('');
    endpoint.answer(say(wire, { calls: [{ id: 'c1', tool: 'FileRW', fragments: ['{}'] }] }));
    expect((await ask(modelFor(wire, endpoint.url))).calls[0]?.input).toBe('{}');
  });

  it('parallel calls, one after another and interleaved, in the order of the model', async () => {
    const texts = ['{"a":9007199254740993}', '{"b":"👩‍👩‍👧"}', '{"c":[1,2,3]}'];
    for (const interleaved of [false, true]) {
      const calls = texts.map((t, i) => ({ id: `c${i}`, tool: 'FileRW', fragments: cut(t, 4) }));
      endpoint.answer(say(wire, { calls, interleaved }, [11]));
      expect((await ask(modelFor(wire, endpoint.url))).calls.map((c) => c.input)).toEqual(texts);
    }
  });

  it('bytes that are not UTF-8 are no answer, where a decoder would put other characters', async () => {
    const events = wire.events({ calls: [{ id: 'c1', tool: 'FileRW', fragments: ['{"path":"X"}'] }] }).join('');
    const bytes = Buffer.from(events);
    bytes[bytes.indexOf('X')] = 0xff;
    endpoint.answer(raw(bytes));
    expect(await failureFrom(ask(modelFor(wire, endpoint.url)))).toMatchObject({ reason: 'model.garbled' });
  });

  it('a round that was stopped at the limit has no call that may be carried out', async () => {
    const calls = [{ id: 'c1', tool: 'FileRW', fragments: ['{"path":"/srv/app.conf"}'] }];
    endpoint.answer(say(wire, { calls, finish: 'length' }));
    expect((await ask(modelFor(wire, endpoint.url))).calls[0]).toMatchObject({ cutOff: true });
  });
});

describe('what a provider would alter is no answer', () => {
  let endpoint: Endpoint;
  beforeAll(async () => {
    endpoint = await startEndpoint();
  });
  afterAll(() => endpoint.stop());
  const garbled = { reason: 'model.garbled' };
  const call = { id: 'c1', tool: 'FileRW', fragments: ['{"a":1}'] };

  it('openai: a fragment that the provider cannot attribute, and drops', async () => {
    const [start = '', ...rest] = openai.events({ calls: [call, { ...call, id: 'c2' }], interleaved: true });
    const stray = `data: ${JSON.stringify({
      id: 'c1',
      choices: [{ index: 0, delta: { tool_calls: [{ function: { arguments: ' ' } }] }, finish_reason: null }],
    })}\n\n`;
    endpoint.answer(raw([start, ...rest.slice(0, 2), stray, ...rest.slice(2)].join('')));
    expect(await failureFrom(ask(modelFor(openai, endpoint.url)))).toMatchObject(garbled);
  });

  it('anthropic: arguments that came as an object, and are serialised anew', async () => {
    const events = anthropic.events({ calls: [{ ...call, fragments: [] }] }).join('');
    endpoint.answer(raw(events.replace('"input":{}', '"input":{"id":9007199254740993}')));
    expect(await failureFrom(ask(modelFor(anthropic, endpoint.url)))).toMatchObject(garbled);
    const early = JSON.stringify([{ type: 'tool_use', id: 'c1', name: 'FileRW', input: { id: 1 } }]);
    endpoint.answer(raw(events.replace('"content":[]', `"content":${early}`)));
    expect(await failureFrom(ask(modelFor(anthropic, endpoint.url)))).toMatchObject(garbled);
  });

  it('anthropic: a call whose end never came', async () => {
    const events = anthropic.events({ calls: [call] }).filter((e) => !e.includes('content_block_stop'));
    endpoint.answer(raw(events.join('')));
    expect(await failureFrom(ask(modelFor(anthropic, endpoint.url)))).toMatchObject({ reason: 'model.cut-off' });
  });

  it('anthropic: a call that the provider runs by itself is marked, so that the gate refuses it', async () => {
    const events = anthropic.events({ calls: [{ ...call, tool: 'web_search', fragments: ['{"query":"x"}'] }] });
    endpoint.answer(raw(events.join('').replace('"type":"tool_use"', '"type":"server_tool_use"')));
    expect((await ask(modelFor(anthropic, endpoint.url))).calls).toMatchObject([{ providerExecuted: true }]);
  });

  it('openai: calls are announced and none comes', async () => {
    endpoint.answer(say(openai, { text: 'I act.', finish: 'tool_calls' }));
    expect(await failureFrom(ask(modelFor(openai, endpoint.url)))).toMatchObject(garbled);
  });
});
