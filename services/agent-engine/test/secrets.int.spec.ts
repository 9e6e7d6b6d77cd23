import { checkStream } from '@holdpoint/contracts';
import { type Stored, StreamReader } from '@holdpoint/eventing';
import { Keyring, KnownSecrets } from '@holdpoint/runtime';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { CallContent } from '../src/gate/content.js';
import { FrozenArguments } from '../src/gate/frozen-arguments.js';
import { Secrets } from '../src/secrets/secrets.js';
import { Turns } from '../src/store/turns.js';
import { ToolRegistry } from '../src/tools/registry.js';
import { defineAction, done, type Tool, unknown } from '../src/tools/tool.js';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, stagingOf, verdictOn } from './events.js';
import { plain, recordPrompts } from './prompts.js';
import { scriptOf, turn } from './script.js';

const PIN = 'grün "und" blau';
const OTHER = 'another-value-0815';
const SERVICE_TOKEN = 'token-of-this-very-engine';
const VALUES = [PIN, OTHER, SERVICE_TOKEN];

/** The far end: what it was really given, and whatever it likes to answer. */
const given: string[] = [];
const vault: Tool = {
  name: 'Vault',
  description: 'A far end.',
  actions: [
    defineAction({
      name: 'put',
      description: 'Puts a text.',
      hint: 'write',
      scope: 'user',
      executionClass: 'at-most-once',
      schema: z.strictObject({ action: z.literal('put'), text: z.string(), note: z.string().optional() }),
      timeoutMs: 5_000,
      secretFields: ['text'],
      run: async ({ text, note = '' }) => {
        given.push(text + note);
        if (note === 'throw') throw new Error(`cannot put ${text}`);
        return note === 'unknown' ? unknown(`maybe put ${text}`) : done(`put ${JSON.stringify({ text })}`);
      },
    }),
    defineAction({
      name: 'get',
      description: 'Gets every value.',
      hint: 'read',
      scope: 'user',
      executionClass: 'idempotent',
      schema: z.strictObject({ action: z.literal('get') }),
      timeoutMs: 5_000,
      run: async () =>
        done(JSON.stringify({ values: VALUES, base64: VALUES.map((v) => Buffer.from(v).toString('base64')) })),
    }),
  ],
};

const call = (args: object) => turn([{ tool: 'Vault', arguments: JSON.stringify(args) }]);
const put = (text: string, more: object = {}) => call({ action: 'put', text, ...more });
const script = scriptOf({
  literal: put(`it is ${PIN}!`),
  escaped: turn([
    {
      tool: 'Vault',
      arguments: `{"action":"put","text":"${[...PIN].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"}`,
    },
  ]),
  base64: put(Buffer.from(`user:${PIN}`).toString('base64')),
  forbidden: put(`Bearer ${SERVICE_TOKEN}`),
  'not json': turn([{ tool: 'Vault', arguments: `{"text": ${PIN}` }]),
  'no tool': turn([{ tool: PIN, arguments: JSON.stringify({ a: PIN }) }]),
  reference: put('PIN={{secret:PIN}}.'),
  nowhere: put('{{secret:OTHER}}'),
  misspelt: put('{{ secret:PIN }}'),
  elsewhere: put('text', { note: ' {{secret:PIN}}' }),
  throws: put('{{secret:PIN}}', { note: 'throw' }),
  get: call({ action: 'get' }),
  held: put('held {{secret:PIN}}'),
});

describe('secrets', () => {
  let engine: TestEngine;
  let prompts: ReturnType<typeof recordPrompts>;
  let registry: ToolRegistry;

  beforeAll(async () => {
    process.env['TEST_PIN'] = PIN;
    process.env['TEST_OTHER'] = OTHER;
    engine = await startEngine({
      script,
      tools: ['Vault', 'FileRW'],
      extraTools: [vault],
      sections: `secrets:
  PIN: { env: TEST_PIN, allow: [{ tool: Vault, action: put, field: text }] }
  OTHER: { env: TEST_OTHER }
`,
      env: { HOLDPOINT_SERVICE_TOKEN: SERVICE_TOKEN, STAGED_TIMEOUT_MS: '500' },
    });
    prompts = recordPrompts();
    registry = engine.app.get(ToolRegistry);
  });
  afterAll(async () => {
    prompts.restore();
    await engine.stop();
  });

  /** Plays a prompt; of its call the policy says `auto`, if it is asked. */
  const play = async (prompt: string, verdict: 'auto' | 'approve' | 'none' = 'auto') => {
    given.length = 0;
    const runId = await engine.run(prompt);
    const [callId = ''] = await engine.calls(runId);
    if (verdict !== 'none') {
      const proposal = await engine.stored('tool.proposed', callId);
      await engine.as.policy.publish(verdictOn(proposal, verdict));
      if (verdict === 'approve') await engine.as.staging.publish(stagingOf(proposal, 1));
    }
    const { conversationId } = await engine.ended(runId);
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    const turns = await engine.app.get(Turns).list('acme', conversationId);
    return { callId, said: JSON.stringify(body), kept: JSON.stringify(turns) };
  };
  const open = async (e: Stored<'tool.executed'>, field: 'arguments' | 'result') => {
    const box = e.event.data[field];
    const at = { spaceId: 'acme', entityId: e.event.subject, field };
    return box ? Buffer.from(await engine.app.get(Keyring).open(box, at)).toString() : null;
  };
  const clean = (...texts: (string | null)[]) => {
    const known = new KnownSecrets(VALUES.map((value) => ({ name: value, value, label: '' })));
    for (const t of texts) expect(known.find(t ?? '')).toEqual([]);
    for (const p of prompts.all) expect(known.find(plain(p))).toEqual([]);
  };

  it.each([
    ['literal', 'Use the reference {{secret:PIN}} in its place; it may stand in Vault.put (text) only.'],
    ['escaped', 'Use the reference {{secret:PIN}}'],
    ['base64', 'Use the reference {{secret:PIN}}'],
    ['not json', 'Use the reference {{secret:PIN}}'],
    ['forbidden', 'must not be used in any call'],
  ])(
    'a value itself in the arguments, %s, is refused before it is proposed, and kept nowhere',
    async (prompt, told) => {
      const { callId, said, kept } = await play(prompt, 'none');
      const executed = await engine.stored('tool.executed', callId);
      expect(executed.event.data).toMatchObject({ status: 'Error', reason: 'arguments.secret-literal' });
      expect(await engine.reader.last('tool.proposed', 'acme', callId)).toBeNull();
      expect(said).toContain(told);
      expect(await open(executed, 'arguments')).toMatch(/\{\{secret:PIN\}\}|\[secret\]/);
      clean(said, kept, await open(executed, 'arguments'), await open(executed, 'result'));
      expect(given).toEqual([]);
    },
  );

  it('a value as the name of a tool is kept nowhere either', async () => {
    const { callId, said, kept } = await play('no tool', 'none');
    const executed = await engine.stored('tool.executed', callId);
    expect(executed.event.data).toMatchObject({ status: 'NotFound', call: { tool: 'unknown' } });
    clean(said, kept, JSON.stringify(executed.event), await open(executed, 'arguments'));
  });

  it('a reference is resolved for the tool alone', async () => {
    const { callId, said, kept } = await play('reference');
    expect(given).toEqual([`PIN=${PIN}.`]);
    const executed = await engine.stored('tool.executed', callId);
    expect(await open(executed, 'result')).toBe('put {"text":"PIN={{secret:PIN}}."}');
    clean(said, kept, await open(executed, 'result'));
    expect(said).toContain('PIN={{secret:PIN}}.');
  });

  it.each([
    [
      'nowhere',
      'The reference {{secret:OTHER}} may not stand in the field \\"text\\" of Vault.put. Allowed there: {{secret:PIN}}.',
    ],
    ['misspelt', 'looks like a reference'],
  ])('a reference that is not allowed there, %s, is refused', async (prompt, told) => {
    const { callId, said } = await play(prompt, 'none');
    const executed = await engine.stored('tool.executed', callId);
    expect(executed.event.data).toMatchObject({ status: 'Error', reason: 'arguments.secret-not-allowed' });
    expect(said).toContain(told);
    expect(given).toEqual([]);
  });

  it('in a field that does not declare it a reference is text', async () => {
    await play('elsewhere');
    expect(given).toEqual(['text {{secret:PIN}}']);
  });

  it('what a tool throws, and what it answers, is scrubbed first', async () => {
    const { callId, said, kept } = await play('throws');
    const doubt = await engine.stored('tool.in-doubt', callId);
    const note = doubt.event.data.note;
    const at = { spaceId: 'acme', entityId: callId, field: 'note' as const };
    const opened = note && Buffer.from(await engine.app.get(Keyring).open(note, at)).toString();
    expect(opened).toBe('cannot put {{secret:PIN}}');
    const got = await play('get');
    expect(got.said).toMatch(/\{\{secret:PIN\}\}.*\{\{secret:OTHER\}\}.*\[secret\]/);
    clean(said, kept, opened, got.said, got.kept);
  });

  it('what a person released is resolved when it is executed; where it is not allowed by then it is not executed', async () => {
    const { callId, said } = await play('held', 'approve');
    const proposal = await engine.stored('tool.proposed', callId);
    const frozen = await engine.app
      .get(Keyring)
      .open(proposal.event.data.frozen, { spaceId: 'acme', entityId: callId, field: 'frozen' });
    expect(Buffer.from(frozen).toString().slice(-54)).toContain('"text":"held {{secret:PIN}}"');
    const approval = approvalOf(proposal);

    const verify = (secrets: Secrets) =>
      new FrozenArguments(registry, engine.app.get(CallContent), engine.app.get(StreamReader), secrets);
    const opened = { nonce: frozen.subarray(0, 32), bytes: frozen.subarray(32) };
    expect(verify(new Secrets([], [])).ready(proposal.event.data.call, opened)).toBe('arguments.secret-not-allowed');
    const found = new Secrets([{ name: 'NEW', value: 'held {{secret', allow: [] }], []);
    expect(verify(found).ready(proposal.event.data.call, opened)).toBe('arguments.secret-literal');

    await engine.as.staging.publish(approval);
    await engine.stored('tool.executed', callId);
    expect(given).toEqual([`held ${PIN}`]);
    clean(said);
  });

  it('a prompt and a note of a person that contain a value are refused', async () => {
    for (const [prompt, what] of [
      [`use ${PIN}`, /Write \{\{secret:PIN\}\}/],
      [SERVICE_TOKEN, /credential of Holdpoint itself/],
    ] as const) {
      const { status, body } = await engine.ask('POST', '/v1/agents/helper/runs', { prompt });
      expect([status, body['code']]).toEqual([422, 'engine.secret-literal']);
      expect(body['detail']).toMatch(what);
    }
    const task = {
      taskId: 't1',
      spaceId: 'acme',
      agent: 'helper',
      principal: { kind: 'person', id: 'ada' },
      prompt: OTHER,
    };
    const sealed = await engine.ask('POST', '/internal/task-prompts', task, { who: 'taskboard' });
    expect([sealed.status, sealed.body['code']]).toEqual([422, 'engine.secret-literal']);
  });

  it('the model is told which references it may use', () => {
    const tool = registry.find('Vault') as Tool;
    expect(registry.forModel(tool).description).toContain(
      'In text a reference stands for a secret that you cannot see: {{secret:PIN}}.',
    );
  });

  it('mutant: without scrubbing a value is found where it is kept', async () => {
    const { scrub } = KnownSecrets.prototype;
    KnownSecrets.prototype.scrub = (text) => text;
    try {
      const { kept } = await play('get');
      expect(() => clean(kept)).toThrow();
    } finally {
      KnownSecrets.prototype.scrub = scrub;
    }
  });

  it('leaves chains that the checker finds nothing wrong with', async () => {
    const messages = [];
    for (let seq = 1; ; seq++) {
      const stored = await engine.reader.bySeq(seq);
      if (!stored) break;
      messages.push(stored);
    }
    expect(checkStream(messages).violations).toEqual([]);
  });
});
