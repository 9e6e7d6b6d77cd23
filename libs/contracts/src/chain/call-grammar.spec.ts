import { describe, expect, it } from '@jest/globals';
import {
  approved,
  auto,
  call,
  claimed,
  type Events,
  keyed,
  pending,
  read,
  run,
  waking,
  within,
  without,
} from '../../test/chain/cast.js';
import { ADA, AFTER_DEADLINE, BEFORE_DEADLINE, CallMaker, RunMaker, stored } from '../../test/chain/make.js';
import { checkStream } from './check.js';

describe('a call that keeps to the table', () => {
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
    'expires at the very deadline': [
      ...pending(),
      call.decided('expired', { decidedAt: call.staged().data.expiresAt }),
      ...waking(call, { outcome: 'expired' }),
    ],
    expires: [...pending(), call.decided('expired'), ...waking(call, { outcome: 'expired', by: null })],
    'is withdrawn by policy': [...pending(), call.decided('withdrawn'), ...waking(call, { outcome: 'withdrawn' })],
    'is revised, and wakes nobody': [...pending(), call.decided('withdrawn', { cause: 'revised', by: ADA })],
    'is withdrawn by a person': [
      ...pending(),
      call.decided('withdrawn', { cause: 'person', by: ADA }),
      ...waking(call, { outcome: 'withdrawn', by: ADA }),
    ],
    'may be tried again, and says why it is not': [
      ...claimed(keyed),
      keyed.inDoubt(true, { attempt: 5, note: keyed.proposed().data.frozen }),
    ],
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
  };
  it.each(Object.entries(good))('%s', (_name, events) => {
    expect(checkStream(stored(events), { settled: true }).violations).toEqual([]);
  });
});

describe('a call that breaks a rule', () => {
  const { ref } = call;
  const other = { ...ref, digest: 'f'.repeat(64) };
  const executed = call.executed('Ok', { held: true, attempt: 1 });
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
      'a withdrawal by no person',
      [...pending(), call.decided('withdrawn', { cause: 'person', by: null })],
    ],
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
    ['call.unfinished', 'a proposal left alone', within(call.proposed())],
    ['call.unfinished', 'a verdict left alone', within(call.proposed(), call.verdict('approve'))],
    ['call.unfinished', 'a denial left alone', within(call.proposed(), call.verdict('deny'))],
    ['call.unfinished', 'an approval left alone', approved()],
    ['call.unfinished', 'a claim left alone', claimed()],
  ];
  it.each(bad)('%s: %s', (code, _what, events) => {
    expect(checkStream(stored(events), { settled: true }).violations.map((v) => v.code)).toContain(code);
  });
});
