import { STREAM } from '@holdpoint/contracts';
import { newEvent, newId } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openStaging, type Proposal, type StagingFixture } from './fixture.js';

let fixture: StagingFixture;
let service: Awaited<ReturnType<StagingFixture['start']>>;
beforeAll(async () => {
  fixture = await openStaging();
  service = await fixture.start();
});
afterAll(() => fixture.close());

const stagedEvent = (callId: string, spaceId = 'acme') =>
  eventually(() => fixture.reader.last('call.staged', spaceId, callId), { what: `call.staged of ${callId}` });
/** Everything published before this call of a space of its own has been handled once it is held. */
const everythingHandled = async () => {
  const { proposal } = await fixture.held({ spaceId: 'beta' });
  await stagedEvent(proposal.subject, 'beta');
};
const deadLetterOf = (p: Proposal) =>
  eventually(async () => (await fixture.deadLetters()).find((l) => l.subject.endsWith(p.subject)), {
    what: `a dead letter for ${p.subject}`,
  });

describe('to-stage → call.staged', () => {
  test('holds the proposal’s bytes under their digest, and says so in one event', async () => {
    const proposal = await fixture.draft();
    const verdict = await fixture.judged(proposal, { expiresAfterSeconds: 90 });
    const staged = await stagedEvent(proposal.subject);
    const row = await fixture.stagedRow(proposal.subject);
    expect(row).toMatchObject({
      status: 'pending',
      digest: proposal.data.call.digest,
      decided_at: null,
      execution: null,
    });
    expect(JSON.parse(row.frozen)).toEqual(proposal.data.frozen);
    expect(row.expires_at.getTime() - row.staged_at.getTime()).toBe(90_000);
    expect(staged.event).toMatchObject({ runid: 'run1', causationid: verdict.id, time: row.staged_at.toISOString() });
    expect(staged.event.data).toEqual({
      call: proposal.data.call,
      number: row.number,
      hint: 'write',
      expiresAt: row.expires_at.toISOString(),
      rule: 'builtin: Mail.send',
      policyVersion: 'version-at-verdict',
      flags: ['injection-marker'],
    });
  });

  test.each(['auto', 'deny'] as const)('a verdict of %s holds nothing', async (verdict) => {
    const proposal = await fixture.draft();
    await fixture.judged(proposal, { verdict });
    await everythingHandled();
    expect(await fixture.rowOf(proposal.subject)).toBeUndefined();
  });

  test('numbers of a space leave no gap, also when two instances hold at once', async () => {
    const second = await fixture.start();
    const drafts = await Promise.all(Array.from({ length: 40 }, () => fixture.draft({ spaceId: 'gamma' })));
    await Promise.all(drafts.map((d) => fixture.judged(d)));
    const rows = await Promise.all(drafts.map((d) => fixture.stagedRow(d.subject)));
    expect(rows.map((r) => r.number).sort((a, b) => a - b)).toEqual(drafts.map((_, i) => i + 1));
    await second.close();
  });

  test('a verdict on content that was erased holds nothing and is a dead letter', async () => {
    const proposal = await fixture.draft({ conversationId: 'erased' });
    await fixture.destroyKey('erased');
    await fixture.judged(proposal);
    expect((await deadLetterOf(proposal)).last_error).toContain('erased');
    expect(await fixture.rowOf(proposal.subject)).toBeUndefined();
  });

  test('a verdict without its proposal in the stream holds nothing', async () => {
    const proposal = await fixture.draft();
    await fixture.judge.publish(fixture.verdictOn(proposal, 1));
    expect((await deadLetterOf(proposal)).last_error).toContain('no longer in the stream');
  });
});

describe('a call is staged once', () => {
  test('when every verdict is delivered again, with and without the memory of the inbox', async () => {
    const held = await Promise.all(Array.from({ length: 20 }, () => fixture.held()));
    await Promise.all(held.map(({ proposal }) => stagedEvent(proposal.subject)));
    const counts = async () =>
      (
        await sql<{ rows: number; events: number; last: number }>`
          SELECT (SELECT count(*)::int FROM staging.frozen_calls) AS rows,
                 (SELECT count(*)::int FROM staging.outbox) AS events,
                 (SELECT last FROM staging.counters WHERE space_id = 'acme') AS last`.execute(fixture.superuser)
      ).rows[0];
    const before = await counts();
    for (const forgetful of [false, true]) {
      if (forgetful) await sql`TRUNCATE staging.inbox`.execute(fixture.superuser);
      await service.close();
      const consumers = fixture.hub.jsm.consumers;
      const { config } = await consumers.info(STREAM, 'staging__policy_decided');
      await consumers.delete(STREAM, 'staging__policy_decided');
      await consumers.add(STREAM, config);
      service = await fixture.start();
      await eventually(async () => {
        const info = await consumers.info(STREAM, 'staging__policy_decided');
        return info.delivered.stream_seq > 0 && info.num_pending === 0 && info.num_ack_pending === 0;
      });
      expect(await counts()).toEqual(before);
    }
  });
});

describe('a late verdict against an abandonment', () => {
  const abandon = (p: Proposal) =>
    fixture.engine.publish(
      newEvent('tool.abandoned', {
        spaceId: p.spaceid,
        entityId: p.subject,
        runId: 'run1',
        data: { call: p.data.call, reason: 'no-verdict' },
      }),
    );

  test('abandoned first: nothing is held', async () => {
    const proposal = await fixture.draft();
    const { seq } = await fixture.engine.publish(proposal);
    await abandon(proposal);
    await fixture.judge.publish(fixture.verdictOn(proposal, seq));
    await everythingHandled();
    expect(await fixture.rowOf(proposal.subject)).toBeUndefined();
    expect(await fixture.reader.last('call.staged', 'acme', proposal.subject)).toBeNull();
  });

  test('verdict first: it is held, although the abandonment is stored by the time anybody looks', async () => {
    await service.close();
    const proposal = await fixture.draft();
    await fixture.judged(proposal);
    await abandon(proposal);
    service = await fixture.start();
    expect((await stagedEvent(proposal.subject)).event.data.number).toBeGreaterThan(0);
  });
});

describe('plan freeze', () => {
  const other = (hex: string) => (hex[0] === '0' ? '1' : '0') + hex.slice(1);
  const flip = (b64: string, at: number) => {
    const bytes = Buffer.from(b64, 'base64url');
    bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << (at % 8));
    return bytes.toString('base64url');
  };
  type Data = Proposal['data'];
  const mutations: [string, (d: Data, at: number) => Promise<Data> | Data][] = [
    ['a byte of the box', (d, at) => ({ ...d, frozen: { ...d.frozen, ct: flip(d.frozen.ct, at) } })],
    ['the box’s vector', (d, at) => ({ ...d, frozen: { ...d.frozen, iv: flip(d.frozen.iv, at) } })],
    ['the digest', (d) => ({ ...d, call: { ...d.call, digest: other(d.call.digest) } })],
    ['the principal', (d) => ({ ...d, call: { ...d.call, principal: { kind: 'person', id: 'eve' } } })],
    [
      'the kind of principal',
      (d) => ({ ...d, call: { ...d.call, principal: { ...d.call.principal, kind: 'service' } } }),
    ],
    ['the agent', (d) => ({ ...d, call: { ...d.call, agent: 'another' } })],
    ['the server', (d) => ({ ...d, call: { ...d.call, server: 'remote' } })],
    ['the tool', (d) => ({ ...d, call: { ...d.call, tool: 'FileRW' } })],
    ['the action', (d) => ({ ...d, call: { ...d.call, action: 'sens' } })],
    ['no action', (d) => ({ ...d, call: { ...d.call, action: null } })],
    ['the schema', (d) => ({ ...d, call: { ...d.call, schemaDigest: other(d.call.schemaDigest) } })],
    ['another call’s box', async (d) => ({ ...d, frozen: (await fixture.draft()).data.frozen })],
    [
      'a box with another byte, sealed anew',
      (d, at) => resealed(d, (plain) => flipAt(plain, 32 + (at % (plain.length - 32)))),
    ],
    ['a box with another nonce, sealed anew', (d, at) => resealed(d, (plain) => flipAt(plain, at % 32))],
    ['a box with a byte more, sealed anew', (d) => resealed(d, (plain) => Buffer.concat([plain, Buffer.from(' ')]))],
    ['a box with less than a nonce, sealed anew', (d) => resealed(d, (plain) => plain.subarray(0, 31))],
  ];
  const flipAt = (plain: Buffer, at: number) => {
    plain[at] = (plain[at] ?? 0) ^ 1;
    return plain;
  };
  let sealedFor = '';
  const resealed = async (d: Data, change: (plain: Buffer) => Buffer): Promise<Data> => {
    const place = { spaceId: 'acme', entityId: sealedFor, field: 'frozen' } as const;
    const plain = Buffer.from(await fixture.keyring.open(d.frozen, place));
    return { ...d, frozen: await fixture.keyring.seal({ ...place, kid: d.frozen.kid }, change(plain)) };
  };

  test('of 200 changed proposals none is held, and each is a dead letter', async () => {
    const earlier = new Set((await fixture.deadLetters()).map((l) => l.subject));
    const changed: Proposal[] = [];
    for (let i = 0; i < 200; i += 1) {
      const [, mutate] = mutations[i % mutations.length] ?? [];
      const proposal = await fixture.draft();
      sealedFor = proposal.subject;
      const mutant = { ...proposal, data: (await mutate?.(proposal.data, i * 7919)) as Data };
      await fixture.judged(mutant);
      changed.push(mutant);
    }
    const letters = await eventually(
      async () => {
        const all = (await fixture.deadLetters()).filter((l) => !earlier.has(l.subject));
        return all.length >= changed.length ? all : null;
      },
      { timeoutMs: 20_000, what: '200 dead letters' },
    );
    expect(letters).toHaveLength(200);
    for (const p of changed) expect(await fixture.rowOf(p.subject)).toBeUndefined();
  });

  test('a proposal under another call’s name is not held', async () => {
    const proposal = await fixture.draft();
    const renamed = { ...proposal, subject: newId() };
    const mutant: Proposal = { ...renamed, callid: renamed.subject };
    await fixture.judged(mutant);
    expect((await deadLetterOf(mutant)).last_error).toContain('does not open');
  });

  test.each<[string, (p: Proposal) => object]>([
    ['another tool', (p) => ({ call: { ...p.data.call, tool: 'FileRW' } })],
    ['another digest', (p) => ({ call: { ...p.data.call, digest: other(p.data.call.digest) } })],
    ['another proposal', () => ({ proposalSeq: 1 })],
  ])('a verdict that was given on %s holds nothing', async (_, data) => {
    const proposal = await fixture.draft();
    await fixture.judged(proposal, { data: data(proposal) });
    expect((await deadLetterOf(proposal)).last_error).toMatch(/the verdict/);
    expect(await fixture.rowOf(proposal.subject)).toBeUndefined();
  });
});
