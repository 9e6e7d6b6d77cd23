import type { CallRef } from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import { openDatabase } from '@holdpoint/runtime';
import { type TestDatabase, testDatabase } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Kysely } from 'kysely';
import { type Claim, Executions } from '../../src/store/executions.js';
import type { Database } from '../../src/store/schema.js';

// The fence alone: an attempt that was taken over can neither begin, end nor prolong anything (guarantee G4).

describe('the fence', () => {
  let database: TestDatabase;
  let db: Kysely<Database>;
  let executions: Executions;
  beforeAll(async () => {
    database = await testDatabase();
    db = openDatabase<Database>(database.url('agent-engine'), { max: 10 });
    executions = new Executions(db);
  });
  afterAll(async () => {
    await db.destroy();
    await database.drop();
  });

  const within = <T>(
    work: (tx: Parameters<Parameters<ReturnType<typeof db.transaction>['execute']>[0]>[0]) => Promise<T>,
  ) => db.transaction().execute(work);
  const claimed = async (executionClass: 'keyed' | 'at-most-once', leaseMs = 60_000): Promise<Claim> => {
    const claim: Claim = {
      callId: newId(),
      spaceId: 'acme',
      runId: newId(),
      call: { conversationId: 'talk' } as CallRef,
      held: true,
      attempt: 1,
      fence: newId(),
    };
    const how = {
      state: 'executing' as const,
      leaseMs,
      timeoutMs: 1,
      executionClass,
      engine: 'one',
      answerUntil: null,
    };
    expect(await within((tx) => executions.take(tx, claim, how))).toBe(true);
    expect(await within((tx) => executions.take(tx, claim, how))).toBe(false);
    return claim;
  };
  const retake = (claim: Claim) =>
    within((tx) => executions.retake(tx, claim, { fence: newId(), leaseMs: 60_000, timeoutMs: 1, engine: 'two' }));
  const end = (claim: Claim) => within((tx) => executions.end(tx, claim, { state: 'closed', outcome: 'done' }));

  it('is taken by one of many, and whoever had it before is not heard', async () => {
    const first = await claimed('keyed');
    const taken = (await Promise.all(Array.from({ length: 10 }, () => retake(first)))).filter((c) => c !== undefined);
    expect(taken).toHaveLength(1);
    const second = taken[0]?.claim as Claim;
    expect(second.attempt).toBe(2);
    expect(await executions.leased(first)).toBe(false);
    expect(await end(first)).toBe(false);
    expect(await within((tx) => executions.again(tx, first, 'unknown', 1))).toBe(false);
    expect(await executions.leased(second)).toBe(true);
    expect(await end(second)).toBe(true);
    expect(await end(second)).toBe(false);
    expect(await retake(second)).toBeUndefined();
  });

  it('is lost with the answer that settles nothing, until the next attempt', async () => {
    const first = await claimed('keyed');
    expect(await within((tx) => executions.again(tx, first, 'unknown', 0))).toBe(true);
    expect(await executions.leased(first)).toBe(false);
    expect((await executions.due()).map((r) => r.call_id)).toContain(first.callId);
    const next = await retake(first);
    expect(next).toMatchObject({ claim: { attempt: 2 }, earlier: 'open' });
    expect((await executions.due()).map((r) => r.call_id)).not.toContain(first.callId);
  });

  it('tells the next attempt when none before can have taken effect', async () => {
    const first = await claimed('keyed');
    expect(await within((tx) => executions.again(tx, first, 'did-not-happen', 0))).toBe(true);
    const second = await retake(first);
    expect(second).toMatchObject({ claim: { attempt: 2 }, earlier: 'ruled-out' });
    expect(await retake(second?.claim as Claim)).toMatchObject({ claim: { attempt: 3 }, earlier: 'open' });
  });

  it('does not begin after its lease, though nobody has taken it yet', async () => {
    const first = await claimed('keyed', -1);
    expect(await executions.leased(first)).toBe(false);
  });

  it('is never taken from an at-most-once call: the database refuses', async () => {
    const only = await claimed('at-most-once');
    await expect(retake(only)).rejects.toThrow('executions_check');
    await expect(within((tx) => executions.again(tx, only, 'unknown', 1))).rejects.toThrow('executions_check');
  });
});
