import type { SpacePolicyAdvice } from '@holdpoint/contracts';
import { newEvent } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startEngine, type TestEngine } from './engine.js';
import { verdictOn } from './events.js';
import { KEY } from './models/ask.js';
import { type Endpoint, say, startEndpoint } from './models/endpoint.js';
import { openai } from './models/wire.js';

// A model is offered what policy would let it do. It is advice: whatever it calls all the same is proposed and decided.

let endpoint: Endpoint;
let engine: TestEngine;
let advice: SpacePolicyAdvice['actions'] | null;
beforeAll(async () => {
  endpoint = await startEndpoint();
  engine = await startEngine({
    model: 'openai/gpt-4o-mini',
    tools: ['FileRW', 'Mail'],
    env: { OPENAI_BASE_URL: endpoint.url, OPENAI_API_KEY: KEY },
    advice: () => advice,
  });
});
afterAll(async () => {
  await engine.stop();
  endpoint.stop();
});

const about = (tool: string, action: string, verdict: 'auto' | 'approve' | 'deny', reason = 'rule') => ({
  server: 'builtin',
  tool,
  action,
  verdict,
  reason,
});
let revision = 0;
const changed = async () => {
  revision += 1;
  const data = {
    what: 'preferences' as const,
    revision,
    by: { kind: 'person' as const, id: 'ada' },
    added: [],
    removed: [],
  };
  await engine.as.policy.publish(newEvent('policy.changed', { spaceId: 'acme', entityId: 'acme', data }));
};

/** Which actions of which tools the model was told of, in schema and in words. */
async function offered(): Promise<string[]> {
  endpoint.answer(say(openai, { text: 'Nothing to do.' }));
  await engine.ended(await engine.run('What can you do?'));
  const { tools = [] } = JSON.parse(endpoint.requests.at(-1)?.body ?? '{}') as {
    tools?: {
      function: { name: string; description: string; parameters: { properties: { action: { enum: string[] } } } };
    }[];
  };
  return tools.flatMap(({ function: { name, description, parameters } }) => {
    const { enum: actions } = parameters.properties.action;
    expect([...description.matchAll(/^- (\w+):/gm)].map((m) => m[1])).toEqual(actions);
    return actions.map((a) => `${name}.${a}`);
  });
}
/** Once the engine has heard that something changed. */
const offeredThen = (expected: string[]) =>
  eventually(async () => {
    const now = await offered();
    if (JSON.stringify(now) !== JSON.stringify(expected)) throw new Error(`offered: ${now}`);
    return true;
  });

const HARMLESS = ['FileRW.read', 'FileRW.list', 'FileRW.write', 'FileRW.delete', 'Mail.send', 'Mail.read_inbox'];
const WITH_PURGE = HARMLESS.flatMap((a) => (a === 'FileRW.delete' ? [a, 'FileRW.purge_folder'] : [a]));

it('without an answer of policy, what destroys is not offered, and all else is', async () => {
  advice = null;
  expect(await offered()).toEqual(HARMLESS);
});

it('what destroys is offered where the space opted in or a rule holds it, from the moment of the change', async () => {
  for (const verdict of ['auto', 'approve'] as const) {
    advice = [about('FileRW', 'purge_folder', verdict)];
    await changed();
    await offeredThen(WITH_PURGE);
    advice = [about('FileRW', 'purge_folder', 'deny', 'destructive-not-allowed')];
    await changed();
    await offeredThen(HARMLESS);
  }
});

it('what is denied is not offered, and a tool of which nothing is left is not named', async () => {
  advice = [about('FileRW', 'write', 'deny'), about('Mail', 'read_inbox', 'deny'), about('Mail', 'send', 'deny')];
  await changed();
  await offeredThen(['FileRW.read', 'FileRW.list', 'FileRW.delete']);
});

it('a halt takes nothing away: it passes, and the model is told of it when it calls', async () => {
  advice = WITH_PURGE.map((a) => {
    const [tool = '', action = ''] = a.split('.');
    return about(tool, action, 'deny', 'halted');
  });
  await changed();
  await offeredThen(HARMLESS);
});

it('a call of what was not offered is proposed and decided like any other', async () => {
  const purge = { id: 'c1', tool: 'FileRW', fragments: ['{"action":"purge_folder","path":"box"}'] };
  endpoint.answer(say(openai, { calls: [purge] }), say(openai, { text: 'I may not.' }));
  const runId = await engine.run('Purge it.');
  const [callId = ''] = await engine.calls(runId);
  const proposal = await engine.stored('tool.proposed', callId);
  await engine.as.policy.publish(verdictOn(proposal, 'deny', { reason: 'destructive-not-allowed' }));
  expect((await engine.stored('tool.executed', callId)).event.data).toMatchObject({ status: 'Denied' });
  expect(await engine.ended(runId)).toMatchObject({ result: 'I may not.' });
});
