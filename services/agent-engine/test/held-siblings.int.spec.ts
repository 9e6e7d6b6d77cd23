import { consumerName, type EventData, STREAM } from '@holdpoint/contracts';
import { type Bus, connectBus, type Stored } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineAction, done, type Tool } from '../src/tools/tool.js';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, verdictOn } from './events.js';
import { play, scriptOf, turn } from './script.js';

// What users of comparable systems saw go wrong when several calls wait at once and are decided in another order, in part,
// or while the engine is away.

type Proposal = Stored<'tool.proposed'>;
type Decision = EventData<'approval.decided'>['decision'];

describe('calls that are held together', () => {
  let engine: TestEngine;
  let hub: Bus;
  const received: string[] = [];
  const keeping = (name: string, entry: z.ZodString): Tool => ({
    name,
    description: 'Keeps what it is given.',
    actions: [
      defineAction({
        name: 'post',
        description: 'Posts an entry.',
        hint: 'write',
        scope: 'user',
        executionClass: 'at-most-once',
        schema: z.strictObject({ action: z.literal('post'), entry }),
        timeoutMs: 1_000,
        run: async (args) => {
          received.push(args.entry);
          return done(`posted ${args.entry}`);
        },
      }),
    ],
  });
  const tools = [keeping('Ledger', z.string()), keeping('Drifting', z.string())];
  const post = (entry: string, tool = 'Ledger') => ({ tool, arguments: `{"action":"post","entry":"${entry}"}` });
  let serving: TestEngine['app'];
  /** Another engine takes over from the one that runs, with the tools as they are by then. */
  const restart = async (meanwhile: () => Promise<void>) => {
    await serving.close();
    await meanwhile();
    serving = await engine.another();
    engine.at(await serving.getUrl());
  };

  beforeAll(async () => {
    engine = await startEngine({
      extraTools: tools,
      tools: tools.map((t) => t.name),
      script: scriptOf({
        five: turn([post('a'), post('b'), post('same'), post('same'), post('e')]),
        'one .*': play('Ledger', post('again').arguments),
        drifts: turn([post('old', 'Drifting'), post('current')]),
        'go on': '      - text: I heard.\n',
      }),
      env: { STAGED_TIMEOUT_MS: '1', EXECUTION_LEASE_MS: '1000', VERDICT_TIMEOUT_MS: '20000' },
    });
    serving = engine.app;
    hub = await connectBus({
      servers: engine.bus.url,
      ...engine.bus.credentials('hub'),
      name: 'hub',
      apiPrefix: '$JS.API',
    });
  });
  afterAll(async () => {
    await hub.close();
    await engine.stop();
  });

  const held = async (runId: string, count: number) => {
    const proposals: Proposal[] = [];
    for (const callId of await engine.calls(runId, count)) {
      const proposal = await engine.stored('tool.proposed', callId);
      await engine.as.policy.publish(verdictOn(proposal, 'approve'));
      proposals.push(proposal);
    }
    return proposals;
  };
  /** Every decision carries the box, as only an approval should: that alone must release nothing. */
  const decide = (p: Proposal, decision: Decision = 'approved') => {
    const person = decision === 'approved' || decision === 'rejected';
    return engine.as.staging.publish(
      approvalOf(p, {
        decision,
        ...(person ? {} : { by: null, cause: decision === 'expired' ? 'deadline' : 'policy-denied' }),
      }),
    );
  };
  /** Every decision that is stored has been dealt with. */
  const decisionsHeard = () =>
    eventually(
      async () => {
        const { num_pending, num_ack_pending } = await hub.jsm.consumers.info(
          STREAM,
          consumerName('agent-engine', 'approval.decided.>'),
        );
        return num_pending === 0 && num_ack_pending === 0;
      },
      { what: 'the decisions to be dealt with' },
    );
  const started = async (p: Proposal) => (await engine.reader.last('tool.started', 'acme', p.event.subject)) !== null;
  const outcome = async (p: Proposal) => (await engine.stored('tool.executed', p.event.subject)).event.data;
  const told = async (conversationId: string) => {
    const { body } = await engine.ask('GET', `/v1/conversations/${conversationId}`);
    return body['turns'] as { role: string; text?: string }[];
  };

  describe('decided in another order, in part, while no engine runs', () => {
    let all: Proposal[];
    let conversationId: string;
    beforeAll(async () => {
      received.length = 0;
      const runId = await engine.run('five');
      all = await held(runId, 5);
      ({ conversationId } = await engine.ended(runId));
      await decide(all[0] as Proposal, 'rejected');
      await decisionsHeard();
      await restart(async () => {
        await decide(all[3] as Proposal);
        await decide(all[1] as Proposal);
      });
      await Promise.all([outcome(all[3] as Proposal), outcome(all[1] as Proposal)]);
      await decisionsHeard();
    });

    it('extra-org/extra#139, mastra#19377: each release runs the arguments of its own call, whatever the order', async () => {
      expect(received.toSorted()).toEqual(['b', 'same']);
      expect(await Promise.all(all.map(started))).toEqual([false, true, false, true, false]);
    });

    it('NeoAgent#86: what was held before a restart is executed after it, and what still waits goes on waiting', async () => {
      expect(await outcome(all[3] as Proposal)).toMatchObject({ status: 'Ok', held: true, attempt: 1 });
      await decide(all[4] as Proposal);
      expect((await outcome(all[4] as Proposal)).status).toBe('Ok');
      expect(received.filter((entry) => entry === 'e')).toEqual(['e']);
    });

    it('mastra#20487: what was declined before a restart does not run after it, though policy would allow it now', async () => {
      // a second decision on it is not even stored
      const first = await engine.reader.last('approval.decided', 'acme', all[0]?.event.subject ?? '');
      await decide(all[0] as Proposal).catch(() => undefined);
      await decisionsHeard();
      const stands = await engine.reader.last('approval.decided', 'acme', all[0]?.event.subject ?? '');
      expect(stands).toMatchObject({ seq: first?.seq, event: { data: { decision: 'rejected' } } });
      expect(await started(all[0] as Proposal)).toBe(false);
      expect(received).not.toContain('a');
    });

    it('langchainjs#11437, mastra#19435: one rejection drops no sibling, every one can be used, and the conversation goes on', async () => {
      await decide(all[2] as Proposal);
      expect((await outcome(all[2] as Proposal)).status).toBe('Ok');
      expect(received.filter((entry) => entry === 'same')).toEqual(['same', 'same']);
      const answers = (await told(conversationId)).flatMap(
        (t) => JSON.stringify(t).match(/Submitted for approval/g) ?? [],
      );
      expect(answers).toHaveLength(5);
      const next = await engine.ended(await engine.run('go on', conversationId));
      expect(next).toMatchObject({ state: 'ok', result: 'I heard.' });
    });
  });

  it('Agenta#4854: an approval authorises its own call alone; the same call proposed again is held again', async () => {
    received.length = 0;
    const first = await engine.run('one time');
    const [released] = (await held(first, 1)) as [Proposal];
    const { conversationId } = await engine.ended(first);
    await decide(released);
    expect((await outcome(released)).status).toBe('Ok');
    const second = await engine.run('one more', conversationId);
    const [again] = (await held(second, 1)) as [Proposal];
    await engine.ended(second);
    await decisionsHeard();
    expect(again.event.data.call.digest).not.toBe(released.event.data.call.digest);
    expect(await started(again)).toBe(false);
    expect(received).toEqual(['again']);
  });

  it.each([
    ['approved', true],
    ['rejected', false],
    ['expired', false],
    ['withdrawn', false],
  ] as const)('archestra#6435: %s means executed: %s', async (decision, runs) => {
    received.length = 0;
    const [p] = (await held(await engine.run('one decision'), 1)) as [Proposal];
    await decide(p, decision);
    if (runs) await outcome(p);
    await decisionsHeard();
    expect(received).toEqual(runs ? ['again'] : []);
    expect(await started(p)).toBe(runs);
  });

  it('openai-agents-python#4145: a tool that is another one after a restart does not run what was approved of the old', async () => {
    received.length = 0;
    const [old, current] = (await held(await engine.run('drifts'), 2)) as [Proposal, Proposal];
    await restart(async () => {
      tools[1] = keeping('Drifting', z.string().max(1_000));
      await decide(old);
      await decide(current);
    });
    expect(await outcome(old)).toMatchObject({ status: 'Denied', reason: 'tool.schema-changed', held: true });
    expect((await outcome(current)).status).toBe('Ok');
    expect(await started(old)).toBe(false);
    expect(received).toEqual(['current']);
  });

  it.each(['auto', 'approve'] as const)(
    'astrid#134: nothing begins before the record of its beginning is stored (verdict %s, the stream is full)',
    async (verdict) => {
      received.length = 0;
      const [callId = ''] = await engine.calls(await engine.run('one unrecorded'));
      const p = await engine.stored('tool.proposed', callId);
      if (verdict === 'approve') await engine.as.policy.publish(verdictOn(p, verdict));
      if (verdict === 'approve') await engine.ended(p.event.runid ?? '');
      const limit = async (room: number) => {
        const { config, state } = await hub.jsm.streams.info(STREAM);
        await hub.jsm.streams.update(STREAM, { ...config, max_msgs: room < 0 ? -1 : state.messages + room });
      };
      await limit(1);
      try {
        // the last message that finds room
        if (verdict === 'approve') await decide(p);
        else await engine.as.policy.publish(verdictOn(p, verdict));
        await eventually(
          async () => {
            const row = await engine.db
              .selectFrom('executions')
              .select('state')
              .where('call_id', '=', callId)
              .executeTakeFirst();
            return row?.state === 'closed';
          },
          { what: 'the claim to end' },
        );
        expect(received).toEqual([]);
        expect(await started(p)).toBe(false);
      } finally {
        await limit(-1);
      }
      expect(await outcome(p)).toMatchObject({ status: 'Error' });
      expect(received).toEqual([]);
    },
  );
});
