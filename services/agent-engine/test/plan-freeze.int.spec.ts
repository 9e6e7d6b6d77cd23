import { readdir } from 'node:fs/promises';
import type { EventData, HoldpointEvent } from '@holdpoint/contracts';
import { newId, type Stored } from '@holdpoint/eventing';
import { Keyring } from '@holdpoint/runtime';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FrozenCallExecutor } from '../src/gate/frozen-call-executor.js';
import { startEngine, type TestEngine } from './engine.js';
import { approvalOf, verdictOn } from './events.js';
import { scriptOf, turn } from './script.js';

// Guarantee G5: what ran is what was seen. 10,000 random mutations of byte, call id, principal, tool, space, schema, nonce.

const SEED = 20_261_130;
const MUTATIONS = 10_000;
type Approval = HoldpointEvent<'approval.decided'>;
type Call = EventData<'approval.decided'>['call'];

describe('plan freeze', () => {
  let engine: TestEngine;
  let executor: FrozenCallExecutor;
  let keyring: Keyring;
  const proposals: Stored<'tool.proposed'>[] = [];

  beforeAll(async () => {
    const calls = Array.from({ length: 10 }, (_, i) => ({
      tool: 'FileRW',
      arguments: `{"action":"write","path":"f${i}.txt","content":"number ${i} and 9007199254740993"}`,
    }));
    engine = await startEngine({ script: scriptOf({ go: turn(calls) }), env: { STAGED_TIMEOUT_MS: '1' } });
    executor = engine.app.get(FrozenCallExecutor);
    keyring = engine.app.get(Keyring);
    const runId = await engine.run('go');
    for (const callId of await engine.calls(runId, calls.length)) {
      const proposal = await engine.stored('tool.proposed', callId);
      await engine.as.policy.publish(verdictOn(proposal, 'approve'));
      proposals.push(proposal);
    }
  });
  afterAll(() => engine.stop());

  it('the unmutated calls would run', async () => {
    for (const p of proposals) expect(typeof (await executor.verify(approvalOf(p)))).toBe('object');
  });

  it(`pydantic-ai#6968: ${MUTATIONS} mutations, 0 run (seed ${SEED})`, async () => {
    const reseal = async (p: Stored<'tool.proposed'>, change: (plain: Buffer) => Buffer) => {
      const { spaceid: spaceId, subject: entityId } = p.event;
      const { frozen, call } = p.event.data;
      const plain = Buffer.from(await keyring.open(frozen, { spaceId, entityId, field: 'frozen' }));
      const { conversationId } = call;
      return keyring.seal({ conversationId, spaceId, entityId, field: 'frozen' }, change(plain));
    };
    const flip = (plain: Buffer, at: number, bit: number) => {
      plain[at] = (plain[at] ?? 0) ^ (1 << bit);
      return plain;
    };
    const text = fc.string({ minLength: 1, maxLength: 12 });
    const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 });
    const mutation = fc.oneof(
      fc.record({ kind: fc.constant('nonce' as const), at: fc.nat(31), bit: fc.nat(7) }),
      fc.record({ kind: fc.constant('byte' as const), at: fc.nat(1000), bit: fc.nat(7) }),
      fc.record({ kind: fc.constant('insert' as const), at: fc.nat(1000), text }),
      fc.record({ kind: fc.constant('box' as const), at: fc.nat(1000) }),
      fc.record({ kind: fc.constant('call id' as const), other: fc.nat(9) }),
      fc.record({ kind: fc.constant('space' as const) }),
      fc.record({
        kind: fc.constantFrom('tool' as const, 'action' as const, 'agent' as const, 'server' as const),
        text,
      }),
      fc.record({ kind: fc.constant('principal' as const), text }),
      fc.record({ kind: fc.constantFrom('schemaDigest' as const, 'digest' as const), hex }),
    );
    const apply = async (
      p: Stored<'tool.proposed'>,
      m: typeof mutation extends fc.Arbitrary<infer M> ? M : never,
    ): Promise<Approval> => {
      const approval = approvalOf(p) as Approval;
      const withCall = (change: Partial<Call>): Approval => ({
        ...approval,
        data: { ...approval.data, call: { ...approval.data.call, ...change } },
      });
      const withFrozen = (frozen: NonNullable<Approval['data']['frozen']>): Approval => ({
        ...approval,
        data: { ...approval.data, frozen },
      });
      const length = p.event.data.argumentBytes;
      switch (m.kind) {
        case 'nonce':
          return withFrozen(await reseal(p, (plain) => flip(plain, m.at, m.bit)));
        case 'byte':
          return withFrozen(await reseal(p, (plain) => flip(plain, 32 + (m.at % length), m.bit)));
        case 'insert':
          return withFrozen(
            await reseal(p, (plain) => {
              const at = 32 + (m.at % (length + 1));
              return Buffer.concat([plain.subarray(0, at), Buffer.from(m.text), plain.subarray(at)]);
            }),
          );
        case 'box': {
          const ct = Buffer.from(p.event.data.frozen.ct, 'base64url');
          return withFrozen({ ...p.event.data.frozen, ct: flip(ct, m.at % ct.length, 0).toString('base64url') });
        }
        case 'call id': {
          const other = proposals[m.other];
          const subject = other && other.event.subject !== p.event.subject ? other.event.subject : newId();
          return { ...approval, subject, callid: subject };
        }
        case 'space':
          return { ...approval, spaceid: 'other' };
        case 'principal':
          return withCall({ principal: { kind: 'person', id: m.text } });
        case 'schemaDigest':
        case 'digest':
          return withCall({ [m.kind]: m.hex });
        default:
          return withCall({ [m.kind]: m.text });
      }
    };

    const ran: unknown[] = [];
    await fc.assert(
      fc.asyncProperty(fc.nat(proposals.length - 1), mutation, async (i, m) => {
        const verdict = await executor.verify(await apply(proposals[i] as Stored<'tool.proposed'>, m));
        if (typeof verdict !== 'string') ran.push(m);
        expect(typeof verdict).toBe('string');
      }),
      { seed: SEED, numRuns: MUTATIONS, endOnFailure: true },
    );
    expect(ran).toEqual([]);
  }, 120_000);

  it('pydantic-ai#6968, Agenta#4854: a mutated release closes its call as Denied and leaves no trace in the world', async () => {
    const [p] = proposals as [Stored<'tool.proposed'>];
    const other = proposals[1] as Stored<'tool.proposed'>;
    await engine.as.staging.publish(approvalOf(p, { frozen: other.event.data.frozen }));
    const executed = await engine.stored('tool.executed', p.event.subject);
    expect(executed.event.data).toMatchObject({ status: 'Denied', held: true, reason: 'frozen.unreadable' });
    expect(await engine.reader.last('tool.started', 'acme', p.event.subject)).toBeNull();
    expect(await readdir(engine.workspace)).toEqual([]);
  });
});
