import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, failureFrom, KEY, modelFor } from './ask.js';
import { type Answer, breakOff, type Endpoint, fallSilent, raw, say, startEndpoint, status } from './endpoint.js';
import { anthropic, openai, type Wire } from './wire.js';

const half = { text: 'I was ab', calls: [{ id: 'c1', tool: 'FileRW', fragments: ['{"path":', '"x"}'] }] };
const drop: Answer = (response) => void response.destroy();

const passing: [string, string, (wire: Wire) => Answer][] = [
  ['429', 'model.unavailable', () => status(429)],
  ['429 with Retry-After', 'model.unavailable', () => status(429, '', { 'retry-after': '0' })],
  ['500 without a word', 'model.unavailable', () => status(500, '')],
  ['503 in HTML', 'model.unavailable', () => status(503, '<html>down</html>')],
  ['529', 'model.unavailable', () => status(529)],
  ['a connection that is dropped', 'model.unavailable', () => drop],
  ['an error in the stream', 'model.unavailable', (wire) => raw(wire.events(half)[0] + wire.errorEvent)],
  ['an error as the first event', 'model.unavailable', (wire) => raw(wire.errorEvent)],
  ['a stream that ends without a finish', 'model.cut-off', (wire) => say(wire, { ...half, finish: null })],
  ['a stream without anything', 'model.cut-off', () => raw('')],
  ['a stream that breaks', 'model.cut-off', (wire) => breakOff(wire, half)],
  ['a stream that falls silent', 'model.unavailable', (wire) => fallSilent(wire, half)],
  ['nothing at all', 'model.unavailable', () => () => {}],
  ['a page in place of a stream', 'model.garbled', () => raw('<html>sign in</html>', 'text/html')],
  ['JSON in place of a stream', 'model.garbled', () => raw('{"choices":[]}', 'application/json')],
  ['events that are not JSON', 'model.garbled', () => raw('data: {"choices": [\n\n')],
];
const lasting: [string, (wire: Wire) => Answer][] = [
  ['400', () => status(400)],
  ['401 that repeats the key', () => status(401, JSON.stringify({ error: { message: `no such key: ${KEY}` } }))],
  ['404', () => status(404, 'not found')],
  ['a redirect, which would carry the key elsewhere', () => status(307, '', { location: 'http://127.0.0.1:9/' })],
  ['an answer that it declines', (wire) => say(wire, { text: 'No.', finish: 'content_filter' })],
];
/** Those that wait for something that never comes. */
const patience = (what: string) => ({ MODEL_SILENCE_MS: /silent|nothing/.test(what) ? '500' : '60000' });

describe.each([openai, anthropic])('$format: a round that comes to nothing', (wire) => {
  let endpoint: Endpoint;
  beforeAll(async () => {
    endpoint = await startEndpoint();
  });
  afterAll(() => endpoint.stop());

  it.each(passing)('%s: asked again, and the round that comes then is whole', async (what, _reason, answer) => {
    endpoint.answer(answer(wire), say(wire, { text: 'Here I am.' }));
    const round = await ask(modelFor(wire, endpoint.url, patience(what)));
    expect(round).toMatchObject({ text: 'Here I am.', calls: [] });
    expect(endpoint.requests).toHaveLength(2);
  });

  it.each(passing)('%s, again and again: %s', async (what, reason, answer) => {
    endpoint.answer(answer(wire));
    const failure = await failureFrom(ask(modelFor(wire, endpoint.url, patience(what))));
    expect(failure.reason).toBe(reason);
    expect(endpoint.requests).toHaveLength(3);
  });

  it.each(lasting)('%s: refused, not asked again, and the key is told to nobody', async (_what, answer) => {
    endpoint.answer(answer(wire));
    const failure = await failureFrom(ask(modelFor(wire, endpoint.url)));
    expect(failure.reason).toBe('model.refused');
    expect(endpoint.requests).toHaveLength(1);
    expect(`${failure.message} ${failure.detail} ${JSON.stringify(failure)} ${failure.stack}`).not.toContain(KEY);
  });

  it('the key reaches the endpoint, and nothing else does that is not meant to', async () => {
    endpoint.answer(say(wire, { text: 'Hello.' }));
    await ask(modelFor(wire, endpoint.url));
    const [request] = endpoint.requests;
    const header = wire.format === 'openai' ? request?.headers['authorization'] : request?.headers['x-api-key'];
    expect(header).toContain(KEY);
    expect(request?.path).toBe(wire.format === 'openai' ? '/v1/chat/completions' : '/v1/messages');
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ model: 'test-model', stream: true });
  });

  it('nobody listens: asked as often as set, then unavailable, and it cannot have cost', async () => {
    const gone = await startEndpoint();
    gone.stop();
    const failure = await failureFrom(ask(modelFor(wire, gone.url)));
    expect(failure).toMatchObject({ reason: 'model.unavailable', circumstances: { mayHaveCost: false } });
    expect(failure.detail).not.toContain(gone.url);
  });

  it('Retry-After is kept to: what asks for more than may be waited is not asked again', async () => {
    endpoint.answer(status(429, '', { 'retry-after': '3600' }));
    expect(await failureFrom(ask(modelFor(wire, endpoint.url)))).toMatchObject({ reason: 'model.unavailable' });
    expect(endpoint.requests).toHaveLength(1);

    endpoint.answer(status(429, '', { 'retry-after': '1' }), say(wire, { text: 'Now.' }));
    const from = performance.now();
    await ask(modelFor(wire, endpoint.url));
    expect(performance.now() - from).toBeGreaterThan(990);
  });

  it('an answer that drips for ever ends after the time for a whole one', async () => {
    let dripping: NodeJS.Timeout | undefined;
    endpoint.answer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      dripping = setInterval(() => response.write(': still here\n\n'), 20);
    });
    const env = { MODEL_ANSWER_MS: '300', MODEL_ATTEMPTS: '1' };
    expect(await failureFrom(ask(modelFor(wire, endpoint.url, env)))).toMatchObject({ reason: 'model.unavailable' });
    clearInterval(dripping);
  });

  it('a cancelled run stops asking at once', async () => {
    const control = new AbortController();
    endpoint.answer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': wait\n\n');
      control.abort(new Error('cancelled'));
    });
    await expect(ask(modelFor(wire, endpoint.url), undefined, control.signal)).rejects.toThrow('cancelled');
    expect(endpoint.requests).toHaveLength(1);
  });
});
