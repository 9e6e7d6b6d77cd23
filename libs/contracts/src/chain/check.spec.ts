import { describe, expect, it } from '@jest/globals';
import { ADA, AFTER_DEADLINE, BEFORE_DEADLINE, CallMaker, RunMaker, stored, TaskMaker } from '../../test/chain/make.js';
import type { HoldpointEvent } from '../events/catalogue.js';
import { checkStream } from './check.js';

type Events = HoldpointEvent[];

const run = new RunMaker('run');
/** A run around calls: what a call needs so that nothing else is amiss. */
const within = (...events: Events): Events => [run.queued(), run.started(), ...events, run.completed('ok')];
/** A task that is taken up at once and done. */
const done = (task: TaskMaker): Events => {
  const r = task.run(`run-${task.id}`);
  return [task.created(), task.ready(), r.queued(), r.started(), r.completed('ok'), task.completed(r.id)];
};
const waking = (call: CallMaker, says: Parameters<typeof TaskMaker.waking>[2]) =>
  done(TaskMaker.waking(`wake-${call.id}`, call, says));

const call = new CallMaker('call', run);
const read = new CallMaker('read', run, { hint: 'read', tool: 'FileRW', action: 'read' });
const keyed = new CallMaker('keyed', run, { executionClass: 'keyed' });
const pending = (c = call): Events => within(c.proposed(), c.verdict('approve'), c.staged());
const approved = (c = call): Events => [...pending(c), c.decided('approved')];
const claimed = (c = call): Events => [...approved(c), c.started(true)];
const auto = (c = call): Events => within(c.proposed(), c.verdict('auto'), c.started(false));

const task = new TaskMaker('task');
const taskRun = task.run('task-run');
const offered: Events = [task.created(), task.ready()];
const running: Events = [...offered, taskRun.queued(), taskRun.started()];
const secondRun = task.run('second-run', 2);

describe('a chain that keeps to the tables', () => {
  const good: Record<string, Events> = {
    'is empty': [],
    'is refused by the parser': within(call.refused('Error')),
    'names a tool that is not there': within(call.refused('NotFound')),
    'is denied': within(call.proposed(), call.verdict('deny'), call.executed('Denied')),
    'is an automatic read': within(read.proposed(), read.verdict('auto'), read.executed('Ok')),
    'is a read that claims all the same': within(
      read.proposed(),
      read.verdict('auto'),
      read.started(false),
      read.executed('Error', { attempt: 1 }),
    ),
    'is an automatic write': [...auto(), call.executed('Ok', { attempt: 1 })],
    'is an automatic write whose engine was lost before the claim': within(
      call.proposed(),
      call.verdict('auto'),
      call.executed('Denied', { cancelled: true }),
    ),
    'has no verdict in time': within(call.proposed(), call.abandoned()),
    'has a verdict after it was abandoned': within(call.proposed(), call.abandoned(), call.verdict('approve')),
    'is abandoned after its verdict': within(
      call.proposed(),
      call.verdict('auto'),
      call.abandoned(),
      call.started(false),
      call.executed('Ok', { attempt: 1 }),
    ),
    'is abandoned long after it ended': [...auto(), call.executed('Ok', { attempt: 1 }), call.abandoned('engine-lost')],
    'is approved by votes and executed': [
      ...pending(),
      call.voted(),
      call.voted({ by: ADA }),
      call.decided('approved'),
      call.started(true),
      call.executed('Ok', { held: true, attempt: 1 }),
      ...waking(call, { outcome: 'executed', status: 'Ok' }),
    ],
    'is approved at the very deadline': [
      ...pending(),
      call.decided('approved', { decidedAt: call.staged().data.expiresAt }),
      call.executed('Denied', { held: true, reason: 'lapsed' }),
      ...waking(call, { outcome: 'denied', status: 'Denied' }),
    ],
    'takes effect at a later attempt': [
      ...claimed(keyed),
      keyed.executed('Ok', { held: true, attempt: 3 }),
      ...waking(keyed, { status: 'Ok', number: null }),
    ],
    'is claimed again': [...auto(keyed), keyed.started(false, 2), keyed.executed('Error', { attempt: 2 })],
    'is rejected': [...pending(), call.decided('rejected'), ...waking(call, { outcome: 'rejected' })],
    expires: [...pending(), call.decided('expired'), ...waking(call, { outcome: 'expired', by: null })],
    'is withdrawn by policy': [...pending(), call.decided('withdrawn'), ...waking(call, { outcome: 'withdrawn' })],
    'is revised, and wakes nobody': [...pending(), call.decided('withdrawn', { cause: 'revised', by: ADA })],
    'is in doubt and settled': [
      ...claimed(),
      call.inDoubt(true),
      call.executed('Ok', { held: true, settledBy: ADA }),
      ...waking(call, { status: 'Ok', settled: true }),
    ],
    'is an automatic call in doubt': [
      ...auto(),
      call.inDoubt(false, { reason: 'tool-answered-unknown' }),
      call.executed('Error', { settledBy: ADA, attempt: 1 }),
    ],
    'is cancelled while it is held': [...claimed(), call.executed('Ok', { held: true, attempt: 1, cancelled: true })],
    'waits for a person': pending(),
    'tells of a call before its run': [
      call.proposed(),
      call.abandoned(),
      run.queued(),
      run.started(),
      run.completed('failed'),
    ],
    'is a task': done(task),
    'is a task offered again before the acceptance was heard': [
      ...offered,
      taskRun.queued(),
      task.ready(),
      taskRun.started(),
      taskRun.completed('ok'),
      task.completed(taskRun.id),
    ],
    'is a task that fails and is tried again': [
      ...running,
      taskRun.completed('interrupted'),
      task.retried(2),
      task.ready(2),
      secondRun.queued(),
      secondRun.started(),
      secondRun.completed('ok'),
      task.completed(secondRun.id, 2),
    ],
    'is a task that dies and is revived by a person': [
      ...running,
      taskRun.completed('failed'),
      task.died(1),
      task.retried(1, ADA),
      task.ready(2),
      secondRun.queued(),
      secondRun.started(),
      secondRun.completed('failed'),
      task.died(2),
    ],
    'is a task cancelled while its run is on its way': [
      ...offered,
      task.cancelled(),
      taskRun.queued(),
      taskRun.completed('cancelled'),
    ],
    'is a task cancelled while it runs': [...running, task.cancelled(taskRun.id), taskRun.completed('cancelled')],
    'has two runs in one conversation, one after the other': [
      run.queued(),
      taskRunOf('other').queued(),
      run.started(),
      run.completed('ok'),
      taskRunOf('other').started(),
      taskRunOf('other').completed('ok'),
    ],
  };
  it.each(Object.entries(good))('%s', (_name, events) => {
    expect(checkStream(stored(events), { settled: true }).violations).toEqual([]);
  });
});

function taskRunOf(id: string) {
  return new RunMaker(id);
}

describe('a chain that breaks a rule', () => {
  const { ref } = call;
  const other = { ...ref, digest: 'f'.repeat(64) };
  const executed = call.executed('Ok', { held: true, attempt: 1 });
  const revisedWake = TaskMaker.waking('wake', call, { outcome: 'withdrawn' });
  const wake = TaskMaker.waking('wake', call, { outcome: 'rejected' });
  const rejected = [...pending(), call.decided('rejected')];
  const bad: [code: string, what: string, events: Events][] = [
    ['call.not-proposed', 'a verdict on nothing', within(call.verdict('auto'))],
    ['call.not-proposed', 'an execution of nothing', within(call.executed('Ok', { attempt: 1 }))],
    ['call.not-proposed', 'a denial of nothing', within(call.executed('Denied'))],
    ['call.repeated', 'two proposals', within(call.proposed(), call.proposed())],
    ['call.repeated', 'two verdicts', within(call.proposed(), call.verdict('deny'), call.verdict('auto'))],
    ['call.repeated', 'two stagings', [...pending(), call.staged()]],
    ['call.repeated', 'two decisions', [...approved(), call.decided('rejected')]],
    ['call.repeated', 'two abandonments', within(call.proposed(), call.abandoned(), call.abandoned())],
    [
      'call.closed',
      'two results',
      [
        ...claimed(keyed),
        keyed.executed('Ok', { held: true, attempt: 1 }),
        ...waking(keyed, { status: 'Ok' }),
        keyed.executed('Ok', { held: true, attempt: 1 }),
      ],
    ],
    [
      'call.closed',
      'two late abandonments',
      [...auto(), call.executed('Ok', { attempt: 1 }), call.abandoned(), call.abandoned()],
    ],
    ['call.closed', 'a claim after the end', within(call.refused('Error'), call.started(false))],
    [
      'call.closed',
      'an execution after it was abandoned',
      within(call.proposed(), call.abandoned(), call.executed('Denied')),
    ],
    [
      'call.closed',
      'a claim on a verdict that came second',
      within(call.proposed(), call.abandoned(), call.verdict('auto'), call.started(false)),
    ],
    [
      'call.closed',
      'a staging on a verdict that came second',
      within(call.proposed(), call.abandoned(), call.verdict('approve'), call.staged()),
    ],
    ['call.not-released', 'an execution without a verdict', within(call.proposed(), call.executed('Ok'))],
    ['call.not-released', 'a claim without a verdict', within(call.proposed(), call.started(false))],
    [
      'call.not-released',
      'a claim of what was denied',
      within(call.proposed(), call.verdict('deny'), call.started(false)),
    ],
    [
      'call.not-released',
      'a claim of what is to be staged',
      within(call.proposed(), call.verdict('approve'), call.started(false)),
    ],
    ['call.not-released', 'a claim while pending', [...pending(), call.started(true)]],
    ['call.not-released', 'an execution of a held read', [...pending(read), read.executed('Ok')]],
    ['call.closed', 'a claim after the rejection', [...rejected, call.started(true)]],
    [
      'call.not-claimed',
      'an automatic write without a claim',
      within(call.proposed(), call.verdict('auto'), call.executed('Ok')),
    ],
    ['call.not-claimed', 'a released call without a claim', [...approved(), executed]],
    ['call.not-claimed', 'a released read without a claim', [...approved(read), read.executed('Ok', { held: true })]],
    [
      'call.order',
      'a decision before the staging',
      within(call.proposed(), call.verdict('approve'), call.decided('approved')),
    ],
    ['call.order', 'a staging of an automatic call', within(call.proposed(), call.verdict('auto'), call.staged())],
    ['call.order', 'a vote after the decision', [...approved(), call.voted()]],
    ['call.order', 'a denial after the claim', [...claimed(), call.executed('Denied', { held: true, attempt: 1 })]],
    [
      'call.order',
      'a tool that vanished after the claim',
      [...claimed(), call.executed('NotFound', { held: true, attempt: 1 })],
    ],
    [
      'call.order',
      'a claim while in doubt',
      [...claimed(keyed), keyed.inDoubt(true, { reason: 'tool-answered-unknown' }), keyed.started(true, 2)],
    ],
    ['call.order', 'a second doubt', [...claimed(), call.inDoubt(true), call.inDoubt(true)]],
    [
      'call.identity',
      'another principal',
      within(call.proposed(), call.verdict('auto', { call: { ...ref, principal: { kind: 'person', id: 'eve' } } })),
    ],
    [
      'call.identity',
      'another action',
      within(call.proposed(), call.verdict('auto', { call: { ...ref, action: null } })),
    ],
    ['call.identity', 'another tool', [...pending(), call.decided('approved', { call: { ...ref, tool: 'FTP' } })]],
    ['call.identity', 'another server', [...pending(), call.decided('approved', { call: { ...ref, server: 'x' } })]],
    ['call.identity', 'another run', within(call.proposed(), { ...call.verdict('auto'), runid: 'else' })],
    ['call.identity', 'another space', within(call.proposed(), { ...call.verdict('auto'), spaceid: 'else' })],
    [
      'call.identity',
      'another agent than its run',
      within(new CallMaker('x', new RunMaker('run', { conversationId: 'else' })).proposed()),
    ],
    ['call.digest', 'a verdict on another digest', within(call.proposed(), call.verdict('auto', { call: other }))],
    [
      'call.digest',
      'a staging of another digest',
      within(call.proposed(), call.verdict('approve'), call.staged({ call: other })),
    ],
    ['call.digest', 'a vote for another digest', [...pending(), call.voted({ digestSeen: other.digest })]],
    ['call.digest', 'an approval of another digest', [...pending(), call.decided('approved', { call: other })]],
    [
      'call.digest',
      'a result of another digest',
      [...claimed(), call.executed('Ok', { held: true, attempt: 1, call: other })],
    ],
    [
      'call.digest',
      'another tool schema',
      [...pending(), call.decided('approved', { call: { ...ref, schemaDigest: 'e'.repeat(64) } })],
    ],
    [
      'call.verdict',
      'a trial policy that holds',
      within(call.proposed(), call.verdict('approve', { mode: 'log-only' })),
    ],
    ['call.staging', 'another hint', within(call.proposed(), call.verdict('approve'), call.staged({ hint: 'read' }))],
    ['call.staging', 'another number', [...pending(), call.decided('approved', { number: 7 })]],
    [
      'call.staging',
      'a number given out twice',
      [...pending(), read.proposed(), read.verdict('approve'), read.staged()],
    ],
    ['call.decision', 'an approval by nobody', [...pending(), call.decided('approved', { by: null })]],
    [
      'call.decision',
      'an approval by a service',
      [...pending(), call.decided('approved', { by: { kind: 'service', id: 'staging' } })],
    ],
    ['call.decision', 'a vote by a service', [...pending(), call.voted({ by: { kind: 'service', id: 'staging' } })]],
    ['call.decision', 'a rejection by the deadline', [...pending(), call.decided('rejected', { cause: 'deadline' })]],
    ['call.decision', 'an expiry by a person', [...pending(), call.decided('expired', { by: ADA })]],
    ['call.decision', 'a withdrawal by the deadline', [...pending(), call.decided('withdrawn', { cause: 'deadline' })]],
    [
      'call.decision',
      'an approval without the frozen bytes',
      [...pending(), without(call.decided('approved'), 'frozen')],
    ],
    [
      'call.decision',
      'a rejection with the frozen bytes',
      [...pending(), call.decided('rejected', { frozen: call.proposed().data.frozen })],
    ],
    [
      'call.expiry',
      'an approval after the deadline',
      [...pending(), call.decided('approved', { decidedAt: AFTER_DEADLINE })],
    ],
    [
      'call.expiry',
      'an expiry before the deadline',
      [...pending(), call.decided('expired', { decidedAt: BEFORE_DEADLINE })],
    ],
    ['call.held', 'a release by a person that was none', [...auto(), call.executed('Ok', { attempt: 1, held: true })]],
    ['call.held', 'a release by a person kept quiet', [...approved(), call.started(false)]],
    ['call.attempt', 'a second attempt of an at-most-once call', [...claimed(), call.started(true, 2)]],
    [
      'call.attempt',
      'a later attempt of an at-most-once call',
      [...claimed(), call.executed('Ok', { held: true, attempt: 2 })],
    ],
    [
      'call.attempt',
      'an attempt that goes back',
      [...auto(keyed), keyed.started(false, 2), keyed.executed('Ok', { attempt: 1 })],
    ],
    ['call.attempt', 'the same attempt twice', [...auto(keyed), keyed.started(false, 1)]],
    ['call.attempt', 'a result of no attempt', [...claimed(), call.executed('Ok', { held: true })]],
    [
      'call.doubt',
      'a doubt that ends by itself',
      [...claimed(), call.inDoubt(true), call.executed('Ok', { held: true, attempt: 1 })],
    ],
    [
      'call.doubt',
      'a doubt that a service settles',
      [...claimed(), call.inDoubt(true), call.executed('Ok', { held: true, settledBy: { kind: 'service', id: 'x' } })],
    ],
    [
      'call.doubt',
      'a settling without a doubt',
      [...claimed(), call.executed('Ok', { held: true, attempt: 1, settledBy: ADA })],
    ],
    ['call.doubt', 'a lapsed lease of a call that may be tried again', [...claimed(keyed), keyed.inDoubt(true)]],
    ['wake.unfounded', 'a wake-up for a call that never was', [TaskMaker.waking('wake', call, {}).created()]],
    ['wake.unfounded', 'a wake-up for a pending call', [...pending(), wake.created()]],
    ['wake.unfounded', 'a wake-up before the execution', [...claimed(), wake.created()]],
    [
      'wake.unfounded',
      'a wake-up for an automatic call',
      [...auto(), call.executed('Ok', { attempt: 1 }), wake.created()],
    ],
    [
      'wake.unfounded',
      'a wake-up after a revision',
      [...pending(), call.decided('withdrawn', { cause: 'revised' }), revisedWake.created()],
    ],
    [
      'wake.unfounded',
      'two wake-ups',
      [...rejected, wake.created(), TaskMaker.waking('again', call, { outcome: 'rejected' }).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up that says it was executed',
      [...rejected, TaskMaker.waking('wake', call, {}).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up of another conversation',
      [...rejected, new TaskMaker('wake', { ...wake.work, conversationId: 'else' }).created()],
    ],
    [
      'wake.mismatch',
      'a wake-up with another status',
      [...claimed(), executed, TaskMaker.waking('wake', call, { status: 'Error' }).created()],
    ],
    ['wake.missing', 'a held call that wakes nobody', [...claimed(), executed]],
    ['call.unfinished', 'a proposal left alone', within(call.proposed())],
    ['call.unfinished', 'a verdict left alone', within(call.proposed(), call.verdict('approve'))],
    ['call.unfinished', 'a denial left alone', within(call.proposed(), call.verdict('deny'))],
    ['call.unfinished', 'an approval left alone', approved()],
    ['call.unfinished', 'a claim left alone', claimed()],
    ['run.missing', 'a call of a run that never was', [call.proposed(), call.abandoned()]],
    ['run.order', 'a start without a queue', [run.started()]],
    ['run.order', 'a second start', [run.queued(), run.started(), run.started()]],
    ['run.order', 'a success that never started', [run.queued(), run.completed('ok')]],
    ['run.order', 'a second end', [run.queued(), run.started(), run.completed('ok'), run.completed('failed')]],
    ['run.order', 'a second queue', [run.queued(), run.queued()]],
    [
      'run.identity',
      'a run that changes its conversation',
      [run.queued(), new RunMaker('run', { conversationId: 'else' }).started()],
    ],
    [
      'run.conversation-busy',
      'two runs of one conversation at once',
      [run.queued(), taskRunOf('b').queued(), run.started(), taskRunOf('b').started()],
    ],
    ['run.task', 'a run of a task that never was', [taskRun.queued()]],
    ['run.task', 'a run before the offer', [task.created(), taskRun.queued()]],
    ['run.task', 'two runs of one attempt', [...offered, taskRun.queued(), task.run('b').queued()]],
    ['run.task', 'a run of an attempt not offered', [...offered, task.run('b', 2).queued()]],
    ['run.task', 'a run of a task that is done', [...done(task), task.run('b').queued()]],
    [
      'run.task',
      'a run in another conversation than the task asks for',
      [...offered, new RunMaker('b', { conversationId: 'else', taskId: 'task', attempt: 1 }).queued()],
    ],
    ['run.task', 'a task run that names no task', [retell(run.queued(), { source: 'task' })]],
    ['run.task', 'a task run without an attempt', [...offered, without(taskRun.queued(), 'attempt')]],
    ['run.task', 'a direct run with an attempt', [retell(run.queued(), { attempt: 1 })]],
    ['run.unfinished', 'a run left alone', [run.queued()]],
    ['task.order', 'an offer of nothing', [task.ready()]],
    ['task.order', 'a second creation', [task.created(), task.created()]],
    ['task.order', 'an end without an offer', [task.created(), task.completed('x')]],
    ['task.order', 'an offer of what is done', [...done(task), task.ready()]],
    ['task.order', 'an offer of what was cancelled', [...offered, task.cancelled(), task.ready()]],
    ['task.order', 'an offer of what is dead', [...running, taskRun.completed('failed'), task.died(1), task.ready(2)]],
    ['task.order', 'a revival of what is not dead', [...offered, task.retried(1, ADA)]],
    ['task.order', 'a revival by nobody', [...running, taskRun.completed('failed'), task.died(1), task.retried(1)]],
    ['task.run', 'an end before the run ended', [...running, task.completed(taskRun.id)]],
    ['task.run', 'an end by another run', [...running, taskRun.completed('ok'), task.completed('else')]],
    ['task.run', 'an end by a run that failed', [...running, taskRun.completed('failed'), task.completed(taskRun.id)]],
    ['task.run', 'a retry of what went well', [...running, taskRun.completed('ok'), task.retried(2)]],
    ['task.run', 'a death of what went well', [...running, taskRun.completed('ok'), task.died(1)]],
    ['task.run', 'a cancellation of another run', [...running, task.cancelled('else')]],
    ['task.attempt', 'an attempt that jumps', [task.created(), task.ready(2)]],
    ['task.attempt', 'an attempt offered anew without a retry', [...offered, task.ready(2)]],
    [
      'task.attempt',
      'an attempt that stands still after a retry',
      [...running, taskRun.completed('failed'), task.retried(2), task.ready(1)],
    ],
    ['task.attempt', 'an end of another attempt', [...running, taskRun.completed('ok'), task.completed(taskRun.id, 2)]],
    ['task.attempt', 'a death with another count', [...running, taskRun.completed('failed'), task.died(5)]],
    ['task.attempt', 'a retry of another attempt', [...running, taskRun.completed('failed'), task.retried(5)]],
    [
      'task.identity',
      'other work than at its creation',
      [task.created(), new TaskMaker('task', { agent: 'else' }).ready()],
    ],
    ['task.identity', 'another space than at its creation', [task.created(), { ...task.ready(), spaceid: 'else' }]],
    ['task.unfinished', 'an offer left alone', offered],
  ];
  it.each(bad)('%s: %s', (code, _what, events) => {
    expect(checkStream(stored(events), { settled: true }).violations.map((v) => v.code)).toContain(code);
  });
});

/** The same event, told with other data. */
function retell<E extends HoldpointEvent>(e: E, data: Partial<E['data']>): E {
  return { ...e, data: { ...e.data, ...data } };
}

function without<E extends HoldpointEvent>(e: E, field: string): E {
  const { [field]: _, ...data } = e.data as Record<string, unknown>;
  return { ...e, data } as unknown as E;
}

describe('the stream itself', () => {
  const good = stored([...pending(), call.decided('rejected'), ...waking(call, { outcome: 'rejected' })]);
  const codes = (messages: Parameters<typeof checkStream>[0]) => checkStream(messages).violations.map((v) => v.code);
  const at = (i: number, change: object) => good.map((m, n) => (n === i ? ({ ...m, ...change } as typeof m) : m));
  const utf8 = new TextEncoder();

  it('is read from bytes as from JSON', () => {
    const bytes = good.map((m) => ({
      seq: m.seq,
      subject: m.subject,
      bytes: utf8.encode(JSON.stringify('json' in m && m.json)),
    }));
    expect(checkStream(bytes)).toEqual(checkStream(good));
  });

  it('has no gap and never goes back', () => {
    expect(codes(good.toSpliced(3, 1))).toContain('stream.gap');
    expect(codes([...good, ...good.slice(2, 3)])).toEqual(['stream.order']);
  });

  it('holds nothing but events under their own subjects', () => {
    expect(codes(at(0, { json: { type: 'tool.exploded' } }))).toContain('stream.unknown-type');
    expect(codes(at(0, { json: { type: 'run.queued' } }))).toContain('stream.malformed');
    expect(codes(at(0, { json: null }))).toContain('stream.unknown-type');
    expect(
      codes(
        at(0, { json: undefined, bytes: utf8.encode('{') }).map(({ seq, subject, ...m }) =>
          'json' in m && m.json ? { seq, subject, json: m.json } : { seq, subject, bytes: utf8.encode('{') },
        ),
      ),
    ).toContain('stream.malformed');
    expect(codes(at(3, { subject: 'policy.decided.acme.else' }))).toContain('stream.subject');
    expect(codes(at(3, { subject: 'policy.decided.else.call' }))).toContain('stream.subject');
  });

  it('counts what a relay sent twice, and tells it from an id that is used again', () => {
    const twice = [...good, { ...good[0], seq: good.length + 1 } as (typeof good)[0]];
    expect(checkStream(twice)).toMatchObject({ violations: [], counts: { duplicates: 1 } });
    const changed = { ...run.queued(), id: ('json' in good[0]! && (good[0].json as HoldpointEvent).id) as string };
    expect(codes([...good, { seq: good.length + 1, subject: good[0]!.subject, json: changed }])).toEqual([
      'event.id-reused',
    ]);
  });

  it('cannot hold a once-fact twice, not even with equal bytes', () => {
    const staged = good.find((m) => m.subject.startsWith('call.staged'));
    expect(codes([...good, { ...staged, seq: good.length + 1 } as (typeof good)[0]])).toEqual(['call.repeated']);
  });

  it('judges by the verdict that names its own proposal', () => {
    const elsewhere = good.map((m) =>
      m.subject.startsWith('policy.') && 'json' in m
        ? {
            ...m,
            json: {
              ...(m.json as object),
              data: { ...(m.json as HoldpointEvent<'policy.decided'>).data, proposalSeq: 1 },
            },
          }
        : m,
    );
    expect(codes(elsewhere)).toEqual(['call.verdict']);
  });

  it('may have lost its head to old age, and then accuses nobody', () => {
    for (let from = 1; from < good.length; from++)
      expect({ from, codes: codes(good.slice(from)) }).toEqual({ from, codes: [] });
    expect(checkStream(good.slice(4)).counts.cut).toBeGreaterThan(0);
  });

  it('is counted, and what is open is listed', () => {
    const { counts, open, firstSeq, lastSeq } = checkStream(
      stored([...claimed(), keyed.proposed(), call.inDoubt(true), ...running]),
    );
    expect(counts).toMatchObject({
      proposed: 2,
      held: 1,
      approved: 1,
      inDoubt: 1,
      executed: 0,
      runs: 2,
      receipts: 1,
      tasks: 1,
    });
    expect(open.map((o) => `${o.entity} ${o.state}`)).toEqual([
      'call/call in-doubt',
      'call/keyed proposed',
      'run/task-run running',
      'task/task running',
    ]);
    expect([firstSeq, lastSeq]).toEqual([1, 14]);
  });

  it('lets no text of a stranger through unescaped', () => {
    const hostile = 'Mail\u001b[2J\u202e';
    const evil = new CallMaker('evil', run, { tool: hostile });
    const { violations } = checkStream(
      stored(within(evil.proposed(), evil.started(false), new CallMaker('evil', run).verdict('auto'))),
    );
    expect(violations.length).toBeGreaterThan(1);
    expect(JSON.stringify(violations)).not.toMatch(/\\u001b|\u202e/);
  });
});
