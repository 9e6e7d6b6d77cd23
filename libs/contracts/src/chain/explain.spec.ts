import { describe, expect, it } from '@jest/globals';
import { call, run, task } from '../../test/chain/cast.js';
import { ADA, BOB, CallMaker, make, TaskMaker } from '../../test/chain/make.js';
import { eventTypes, type HoldpointEvent } from '../events/catalogue.js';
import { explain } from './explain.js';

const digest = call.ref.digest.slice(0, 12);
const expected: [HoldpointEvent, string][] = [
  [run.queued(), 'a run of secretary for ada waits for its conversation, from direct'],
  [task.run('r', 2).queued(), 'a run of secretary for ada waits for its conversation, for task task, attempt 2'],
  [run.started(), 'the run starts with model scripted on engine engine-1'],
  [run.completed('ok'), 'the run is over: ok; 1 step, 2 tokens, $0, 0.0 s'],
  [
    make('run.key-destroyed', 'talk', { conversationId: 'talk', kid: 'k1', by: ADA, reason: 'asked' }),
    'the key of the conversation is destroyed by ada (asked): its content is gone for good',
  ],
  [
    call.proposed(),
    `secretary asks for Mail.send (builtin server builtin, write, at-most-once) with 10 bytes, digest ${digest}…`,
  ],
  [call.abandoned(), 'the engine gives the proposal up: no-verdict'],
  [call.verdict('approve'), 'policy says approve by "builtin: Mail.send" (rule)'],
  [
    call.verdict('auto', { mode: 'log-only', wouldBe: 'deny', flags: ['injection'] }),
    'policy says auto (trial mode, would be deny) by "builtin: Mail.send" (rule), flagged injection',
  ],
  [
    make('policy.space-created', 'acme', { name: 'Acme GmbH', createdBy: ADA }),
    'the space "Acme GmbH" is created by ada',
  ],
  [
    make('policy.member-changed', 'acme', { userId: 'bob', displayName: 'Bob "B"', role: 'admin', changedBy: ADA }),
    'bob ("Bob \\u{22}B\\u{22}") is admin, by ada',
  ],
  [
    make('policy.member-changed', 'acme', { userId: 'bob', displayName: 'Bob', role: null, changedBy: BOB }),
    'bob (Bob) is no longer a member, by bob',
  ],
  [
    make('policy.changed', 'acme', {
      what: 'preferences',
      revision: 3,
      by: ADA,
      added: ['git/repo%2Edrop'],
      removed: ['FileRW.purge_folder'],
    }),
    'the preferences of the space change by ada, revision 3; added "git/repo%2Edrop"; removed FileRW.purge_folder',
  ],
  [
    make('policy.changed', 'acme', {
      what: 'halt',
      revision: 4,
      by: ADA,
      added: [],
      removed: [],
      halt: { id: 'h', scope: 'agent', agent: 'secretary', reason: 'x', lifted: false },
    }),
    'a halt is set (agent secretary) by ada, revision 4',
  ],
  [
    make('tool.announced', 'tool', {
      server: 'builtin',
      tool: 'Clock',
      origin: 'builtin',
      description: 'x',
      affectedData: null,
      schemaDigest: 'a'.repeat(64),
      agents: ['secretary'],
      actions: [],
      withdrawn: false,
    }),
    '1 agent of the space have Clock of builtin with 0 actions',
  ],
  [call.staged(), 'held for a person as acme#1 by "builtin: Mail.send" until 2030-01-02T00:00:00.000Z'],
  [call.voted(), 'bob votes to approve acme#1'],
  [
    call.voted({ role: 'member', groups: ['risk', 'law'] }),
    'bob votes to approve acme#1 as member, of group risk, of group law',
  ],
  [
    call.decided('approved', {
      votes: [
        { by: 'ada', role: 'owner', groups: [] },
        { by: 'bob', role: 'member', groups: ['risk'] },
      ],
    }),
    'acme#1 is approved by bob, with the votes of ada, bob',
  ],
  [call.decided('approved'), 'acme#1 is approved by bob'],
  [call.decided('expired'), 'acme#1 is expired by deadline'],
  [call.decided('withdrawn', { cause: 'revised', by: ADA }), 'acme#1 is withdrawn by ada (revised)'],
  [call.started(true), 'Mail.send is claimed after its release, attempt 1'],
  [call.started(false), 'Mail.send is claimed, attempt 1'],
  [call.inDoubt(true), 'nobody knows whether Mail.send took effect (lease-lapsed, attempt 1): a person must settle it'],
  [call.executed('Ok', { settledBy: BOB }), 'Mail.send came to Ok, settled by bob, 0.0 s'],
  [
    call.executed('Denied', { reason: 'halted', cancelled: true }),
    'Mail.send came to Denied (halted), its run was cancelled, 0.0 s',
  ],
  [task.created(), 'a task for secretary by service taskboard, due 2030-01-01T12:00:00.000Z'],
  [TaskMaker.waking('w', call, {}).created(), 'a task to wake secretary: Mail.send was executed'],
  [task.ready(), 'the task is offered to the engines, attempt 1, until 2030-01-02T00:00:00.000Z'],
  [task.completed('r'), 'the task is done by run r, attempt 1'],
  [task.retried(2, ADA), 'the task is open again by ada (run-failed), due 2030-01-02T00:00:00.000Z'],
  [task.died(5), 'the task is given up after 5 attempts (run-failed): a person decides what becomes of it'],
  [task.cancelled(), 'the task is cancelled by ada (person)'],
];

describe('explain', () => {
  it.each(expected)('%#', (event, line) => {
    expect(explain(event)).toBe(line);
  });

  it('has a line for every event there is', () => {
    expect([...new Set(expected.map(([e]) => e.type))].sort()).toEqual([...eventTypes].sort());
  });

  it('lets a stranger neither steer the terminal nor leave the quotation marks', () => {
    const tool = 'Mail", approved by ada\u001b[2J\n\u202e';
    const line = explain(new CallMaker('c', run, { tool }).started(true));
    expect(line).toBe(
      '"Mail\\u{22}, approved by ada\\u{1b}[2J\\u{a}\\u{202e}".send is claimed after its release, attempt 1',
    );
  });
});
