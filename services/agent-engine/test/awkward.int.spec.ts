import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Keyring } from '@holdpoint/runtime';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { FrozenCallExecutor } from '../src/gate/frozen-call-executor.js';
import { exactInteger } from '../src/tools/exact-integer.js';
import { defineAction, done, type Tool } from '../src/tools/tool.js';
import { awkwardCases } from './awkward-cases.js';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, verdictOn } from './events.js';
import { scriptOf, turn } from './script.js';

// Every awkward input through the running engine: what is refused proposes nothing; what is proposed is frozen byte for
// byte, and the tool receives exactly that.

const received: unknown[] = [];
const id = exactInteger({ min: 0, max: 2n ** 63n });

/** A tool whose every action keeps what it was given. */
const keeper = (name: string, actions: Record<string, z.ZodRawShape>): Tool => ({
  name,
  description: 'Keeps what it is given.',
  actions: Object.entries(actions).map(([action, shape]) =>
    defineAction<{ action: string }>({
      name: action,
      description: action,
      hint: 'write',
      scope: 'user',
      executionClass: 'at-most-once',
      schema: z.strictObject({ action: z.literal(action), ...shape }) as unknown as z.ZodType<
        { action: string },
        { action: string }
      >,
      timeoutMs: 5_000,
      run: async (args) => {
        received.push(args);
        return done('kept');
      },
    }),
  ),
});

const tools = [
  keeper('Shell', { run: { command: z.string() } }),
  keeper('File', {
    write: { path: z.string(), content: z.string(), mode: z.string().optional() },
    delete: { path: z.string() },
  }),
  keeper('Records', { list: { id: id.optional() }, delete: { id } }),
  keeper('Bank', { transfer: { to: z.string(), amount: z.number() } }),
  keeper('Server', { restart: { dry_run: z.boolean() } }),
  keeper('Doc', { create: { title: z.string(), note: z.string().nullable() } }),
  keeper('Todo', { set: { items: z.array(z.strictObject({ t: z.string() })) } }),
  keeper('Config', { set: { values: z.record(z.string(), z.unknown()) } }),
];

describe('awkward arguments', () => {
  let engine: TestEngine;

  beforeAll(async () => {
    const twice = { tool: 'Bank', arguments: '{"action":"transfer","to":"A","amount":10}' };
    engine = await startEngine({
      extraTools: tools,
      tools: tools.map((t) => t.name),
      env: { STAGED_TIMEOUT_MS: '1' },
      script: scriptOf({
        ...Object.fromEntries(awkwardCases.map((c) => [c.id, turn([{ tool: c.tool, arguments: c.args }])])),
        'aw-81': turn([twice, twice]),
        'aw-83': turn([{ tool: 'Shell', arguments: '{"action":"run","command":"deploy"}' }]),
      }),
    });
  });
  afterAll(() => engine.stop());

  const proposals = async (prompt: string, count = 1) => {
    const calls = await engine.calls(await engine.run(prompt), count);
    const stored = [];
    for (const callId of calls) {
      const proposal = await engine.stored('tool.proposed', callId);
      await engine.as.policy.publish(verdictOn(proposal, 'approve'));
      stored.push(proposal);
    }
    return stored;
  };

  it.each(awkwardCases)('$id $kind', async ({ id: prompt, args, becomes }) => {
    received.length = 0;
    if ('refused' in becomes) {
      const [callId] = await engine.calls(await engine.run(prompt));
      const { event } = await engine.stored('tool.executed', callId as string);
      expect(event.data.reason).toBe(becomes.refused);
      expect(await engine.reader.last('tool.proposed', 'acme', callId as string)).toBeNull();
      expect(received).toEqual([]);
      return;
    }
    const [proposal] = await proposals(prompt);
    if (!proposal) throw new Error('nothing was proposed');
    const { spaceid: spaceId, subject: entityId } = proposal.event;
    const frozen = await engine.app
      .get(Keyring)
      .open(proposal.event.data.frozen, { spaceId, entityId, field: 'frozen' });
    expect(Buffer.from(frozen).subarray(32).toString('utf8')).toBe(args);
    await engine.as.staging.publish(approvalOf(proposal));
    expect((await engine.stored('tool.executed', entityId)).event.data.status).toBe('Ok');
    expect(received.map((r) => structuredClone(r))).toEqual([becomes.received]);
  });

  it('Agenta#4854: aw-81 two identical calls in one round: each its own proposal, one approval is one execution', async () => {
    received.length = 0;
    const [first, second] = await proposals('aw-81', 2);
    if (!first || !second) throw new Error('two proposals were expected');
    expect(first.event.data.call.digest).not.toBe(second.event.data.call.digest);
    await engine.as.staging.publish(approvalOf(first));
    await engine.stored('tool.executed', first.event.subject);
    expect(received).toHaveLength(1);
    expect(await engine.reader.last('tool.started', 'acme', second.event.subject)).toBeNull();
  });

  it('omni#1031: aw-83 an approval is used once, however often it is delivered', async () => {
    received.length = 0;
    const [proposal] = await proposals('aw-83');
    if (!proposal) throw new Error('nothing was proposed');
    const approval = approvalOf(proposal);
    await engine.as.staging.publish(approval);
    await engine.stored('tool.executed', proposal.event.subject);
    const executor = engine.app.get(FrozenCallExecutor);
    await Promise.all([executor.execute(approval), executor.execute(approval)]);
    expect(received).toHaveLength(1);
  });

  it('names every case that the shared collection has', () => {
    const shared = join(import.meta.dirname, '..', '..', '..', '..', 'shared', 'cases', 'awkward-args.json');
    if (!existsSync(shared)) return;
    const { cases } = JSON.parse(readFileSync(shared, 'utf8')) as { cases: { id: string }[] };
    // ids that restart in each turn are a matter of the wire formats and tried there
    const elsewhere = ['aw-79', 'aw-81', 'aw-83'];
    const known = new Set([...awkwardCases.map((c) => c.id), ...elsewhere]);
    expect(cases.map((c) => c.id).filter((c) => !known.has(c))).toEqual([]);
  });
});
