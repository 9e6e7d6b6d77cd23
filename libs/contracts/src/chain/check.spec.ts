import { describe, expect, it } from '@jest/globals';
import { call, claimed, keyed, pending, read, retell, run, running, waking, within } from '../../test/chain/cast.js';
import { ADA, CallMaker, make, stored } from '../../test/chain/make.js';
import { checkStream } from './check.js';
import type { StreamMessage } from './report.js';

const utf8 = new TextEncoder();
const codes = (messages: Iterable<StreamMessage>) => checkStream(messages).violations.map((v) => v.code);

describe('the stream itself', () => {
  const events = [...pending(), call.decided('rejected'), ...waking(call, { outcome: 'rejected' })];
  const good = stored(events);
  const verdictAt = events.findIndex((e) => e.type === 'policy.decided');
  const asBytes = good.map((m) => ({
    seq: m.seq,
    subject: m.subject,
    bytes: utf8.encode(JSON.stringify('json' in m && m.json)),
  }));
  const more = (json: unknown, subject = 'run.queued.acme.run') => [...good, { seq: good.length + 1, subject, json }];

  it('is read from bytes as from JSON', () => {
    expect(checkStream(asBytes)).toEqual(checkStream(good));
  });

  it('has no gap and never goes back', () => {
    expect(codes(good.toSpliced(3, 1))).toContain('stream.gap');
    expect(codes([...good, ...good.slice(2, 3)])).toEqual(['stream.order']);
  });

  it('holds nothing but events', () => {
    expect(codes(more({ type: 'tool.exploded' }))).toEqual(['stream.unknown-type']);
    expect(codes(more({ ...run.queued(), dataschema: 'urn:holdpoint:event:run.queued:9' }))).toEqual([
      'stream.malformed',
    ]);
    expect(codes(more({ type: 'run.queued' }))).toEqual(['stream.malformed']);
    expect(codes(more(null))).toEqual(['stream.unknown-type']);
    for (const bytes of [utf8.encode('{'), utf8.encode('\ufeff{}'), Uint8Array.of(0x22, 0xff, 0x22)])
      expect(codes([...good, { seq: good.length + 1, subject: 'run.queued.acme.run', bytes }])).toEqual([
        'stream.malformed',
      ]);
  });

  it.each(['policy.decided.acme.else', 'policy.decided.else.call', 'tool.proposed.acme.call'])(
    'holds no event under a subject that is not its own: %s',
    (subject) => {
      expect(codes(good.map((m, i) => (i === verdictAt ? { ...m, subject } : m)))).toContain('stream.subject');
    },
  );

  it('counts what a relay sent twice, and tells it from an id that is used again', () => {
    const [first] = events;
    expect(checkStream(more(first))).toMatchObject({ violations: [], counts: { duplicates: 1 } });
    expect(codes(more({ ...run.queued(), id: first?.id }))).toEqual(['event.id-reused']);
  });

  it('cannot hold a once-fact twice, not even with equal bytes', () => {
    const staged = events.find((e) => e.type === 'call.staged');
    expect(codes(more(staged, 'call.staged.acme.call'))).toEqual(['call.repeated']);
  });

  it('judges by the verdict that names its own proposal', () => {
    const elsewhere = retell(call.verdict('approve'), { proposalSeq: 1 });
    expect(codes(good.map((m, i) => (i === verdictAt ? { ...m, json: elsewhere } : m)))).toEqual(['call.verdict']);
  });

  it('may have lost its head to old age, and then accuses nobody', () => {
    for (let from = 1; from < good.length; from++)
      expect({ from, codes: codes(good.slice(from)) }).toEqual({ from, codes: [] });
    expect(checkStream(good.slice(4)).counts.cut).toBeGreaterThan(0);
  });

  it('is counted, and what is open is listed', () => {
    const story = [...claimed(), keyed.proposed(), call.inDoubt(true), ...running];
    const { violations, counts, open, firstSeq, lastSeq } = checkStream(stored(story));
    expect(violations).toEqual([]);
    expect(counts).toMatchObject({
      ...{ proposed: 2, held: 1, approved: 1, inDoubt: 1, executed: 0 },
      ...{ runs: 2, receipts: 1, tasks: 1, woken: 0 },
    });
    expect(open.map((o) => `${o.entity} ${o.state}`)).toEqual([
      'call/call in-doubt',
      'call/keyed proposed',
      'run/task-run running',
      'task/task running',
    ]);
    expect([firstSeq, lastSeq]).toEqual([1, 14]);
  });

  it('counts what came of each call', () => {
    const { counts } = checkStream(
      stored([
        ...within(call.proposed(), call.verdict('deny'), call.executed('Denied')),
        ...[keyed.proposed(), keyed.verdict('auto'), keyed.started(false), keyed.executed('Ok', { attempt: 1 })],
        ...[read.proposed(), read.abandoned(), read.verdict('deny'), new CallMaker('x', run).refused('NotFound')],
      ]),
    );
    expect(counts).toMatchObject({
      ...{ proposed: 3, denied: 1, auto: 1, abandoned: 1, superseded: 1, held: 0 },
      ...{ executed: 1, refused: 2, settled: 0 },
    });
  });

  it('asks for the run of a call once the system is at rest, and not before', () => {
    const orphan = stored([call.proposed(), call.abandoned()]);
    expect(codes(orphan)).toEqual([]);
    expect(checkStream(orphan, { settled: true }).violations.map((v) => v.code)).toEqual(['run.missing']);
  });

  it('knows whose key was destroyed', () => {
    const destroyed = make('run.key-destroyed', 'talk', { conversationId: 'talk', kid: 'k', by: ADA, reason: 'asked' });
    expect(codes(stored([destroyed]))).toEqual([]);
    expect(codes(stored([retell(destroyed, { conversationId: 'else' })]))).toEqual(['run.identity']);
  });

  it('lets no text of a stranger into its words', () => {
    const evil = new CallMaker('evil', run, { tool: 'Mail\u001b[2J\u202e' });
    const plain = new CallMaker('evil', run);
    const { violations } = checkStream(stored(within(evil.proposed(), evil.started(false), plain.verdict('auto'))));
    expect(violations.length).toBeGreaterThan(1);
    for (const { message } of violations) expect(message).toMatch(/^[\x20-\x7e]*$/);
  });
});
