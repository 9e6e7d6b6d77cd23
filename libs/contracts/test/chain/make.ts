import {
  type CallRef,
  catalogue,
  type Decision,
  type EventData,
  type EventType,
  type ExecutionClass,
  type Hint,
  type HoldpointEvent,
  type Outcome,
  type Principal,
  type RunStatus,
  type StreamMessage,
  schemaUri,
  sourceOf,
  subjectOf,
  type TaskWork,
  type Verdict,
} from '../../src/index.js';

export const SPACE = 'acme';
export const ADA: Principal = { kind: 'person', id: 'ada' };
export const BOB: Principal = { kind: 'person', id: 'bob' };
export const DEADLINE = '2030-01-02T00:00:00.000Z';
export const BEFORE_DEADLINE = '2030-01-01T12:00:00.000Z';
export const AFTER_DEADLINE = '2030-01-02T00:00:00.001Z';
const box = { kid: 'k1', iv: 'AAAAAAAAAAAAAAAA', ct: 'AAAA' };
const hex = (text: string) =>
  [...text]
    .map((c) => c.charCodeAt(0).toString(16))
    .join('')
    .padEnd(64, '0')
    .slice(0, 64);

let made = 0;

/** A well-formed event with an id of its own; whether it makes sense is for the test to say. */
export function make<T extends EventType>(
  type: T,
  entityId: string,
  data: EventData<T>,
  ids: { runId?: string | undefined } = {},
): HoldpointEvent<T> {
  const { version, publisher, entity } = catalogue[type];
  return {
    specversion: '1.0',
    id: `e${++made}`,
    type,
    source: sourceOf(publisher),
    subject: entityId,
    time: new Date(Date.UTC(2030, 0, 1) + made).toISOString(),
    datacontenttype: 'application/json',
    dataschema: schemaUri(type, version),
    spaceid: SPACE,
    ...(entity === 'run' ? { runid: entityId } : ids.runId === undefined ? {} : { runid: ids.runId }),
    ...(entity === 'call' ? { callid: entityId } : {}),
    data,
  } as unknown as HoldpointEvent<T>;
}

/** The events as a stream stores them from sequence 1 on; verdicts are made to name where their proposal came to stand. */
export function stored(events: readonly HoldpointEvent[]): StreamMessage[] {
  const proposals = new Map(
    events.flatMap((e, i) => (e.type === 'tool.proposed' ? [[e.subject, i + 1] as const] : [])),
  );
  return events.map((e, i) => {
    const proposalSeq = proposals.get(e.subject);
    const json =
      e.type === 'policy.decided' && proposalSeq !== undefined ? { ...e, data: { ...e.data, proposalSeq } } : e;
    return { seq: i + 1, subject: subjectOf(e), json };
  });
}

export interface RunTraits {
  conversationId?: string;
  taskId?: string;
  attempt?: number;
  principal?: Principal;
}

export class RunMaker {
  readonly provenance;
  constructor(
    readonly id: string,
    readonly traits: RunTraits = {},
  ) {
    this.provenance = {
      agent: 'secretary',
      model: 'scripted',
      source: traits.taskId === undefined ? ('direct' as const) : ('task' as const),
      principal: traits.principal ?? ADA,
      conversationId: traits.conversationId ?? 'talk',
      ...(traits.taskId === undefined ? {} : { taskId: traits.taskId }),
    };
  }
  get #stamp() {
    const { attempt } = this.traits;
    return { ...this.provenance, ...(attempt === undefined ? {} : { attempt }) };
  }
  queued = () => make('run.queued', this.id, { ...this.#stamp, prompt: box });
  started = () => make('run.started', this.id, { ...this.#stamp, engine: 'engine-1' });
  completed = (status: RunStatus) =>
    make('run.completed', this.id, {
      ...this.#stamp,
      status,
      steps: 1,
      usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
      cost: { amount: '0', known: true },
      result: status === 'ok' ? box : null,
      durationMs: 5,
    });
}

export interface CallTraits {
  hint?: Hint;
  executionClass?: ExecutionClass;
  number?: number;
  tool?: string;
  action?: string;
  principal?: Principal;
}

export class CallMaker {
  readonly ref: CallRef & { schemaDigest: string; digest: string };
  constructor(
    readonly id: string,
    readonly run: RunMaker,
    readonly traits: CallTraits = {},
  ) {
    this.ref = {
      ...run.provenance,
      ...(traits.principal === undefined ? {} : { principal: traits.principal }),
      server: 'builtin',
      tool: traits.tool ?? 'Mail',
      action: traits.action ?? 'send',
      schemaDigest: hex('schema'),
      digest: hex(id),
    };
  }
  #make<T extends EventType>(type: T, data: EventData<T>) {
    return make(type, this.id, data, { runId: this.run.id });
  }
  get number() {
    return this.traits.number ?? 1;
  }
  get hint() {
    return this.traits.hint ?? 'write';
  }
  get executionClass() {
    return this.traits.executionClass ?? 'at-most-once';
  }

  proposed = () =>
    this.#make('tool.proposed', {
      call: this.ref,
      frozen: box,
      argumentBytes: 10,
      hint: this.hint,
      scope: 'user',
      executionClass: this.executionClass,
      origin: 'builtin',
      step: 1,
      index: 0,
    });
  abandoned = (reason: 'no-verdict' | 'cancelled' | 'engine-lost' = 'no-verdict') =>
    this.#make('tool.abandoned', { call: this.ref, reason });
  verdict = (verdict: Verdict, more: Partial<EventData<'policy.decided'>> = {}) =>
    this.#make('policy.decided', {
      call: this.ref,
      verdict,
      reason: 'rule',
      rule: 'builtin: Mail.send',
      policyVersion: 'v1',
      mode: 'enforce',
      flags: [],
      proposalSeq: 1,
      ...more,
    });
  staged = (more: Partial<EventData<'call.staged'>> = {}) =>
    this.#make('call.staged', {
      call: this.ref,
      number: this.number,
      hint: this.hint,
      expiresAt: DEADLINE,
      rule: 'builtin: Mail.send',
      policyVersion: 'v1',
      flags: [],
      ...more,
    });
  voted = (more: Partial<EventData<'approval.voted'>> = {}) =>
    this.#make('approval.voted', {
      call: this.ref,
      number: this.number,
      vote: 'approve',
      by: BOB,
      digestSeen: this.ref.digest,
      reason: null,
      ...more,
    });
  decided = (decision: Decision, more: Partial<EventData<'approval.decided'>> = {}) => {
    const byPerson = decision === 'approved' || decision === 'rejected';
    return this.#make('approval.decided', {
      call: this.ref,
      number: this.number,
      decision,
      by: byPerson ? BOB : null,
      decidedAt: decision === 'expired' ? AFTER_DEADLINE : BEFORE_DEADLINE,
      reason: null,
      cause: byPerson ? 'person' : decision === 'expired' ? 'deadline' : 'policy-denied',
      policyVersion: 'v1',
      ...(decision === 'approved' ? { frozen: box } : {}),
      ...more,
    });
  };
  started = (held: boolean, attempt = 1) => this.#make('tool.started', { call: this.ref, attempt, held });
  inDoubt = (held: boolean, more: Partial<EventData<'tool.in-doubt'>> = {}) =>
    this.#make('tool.in-doubt', { call: this.ref, attempt: 1, held, reason: 'lease-lapsed', note: null, ...more });
  executed = (status: Outcome, more: Partial<EventData<'tool.executed'>> = {}) =>
    this.#make('tool.executed', {
      call: this.ref,
      status,
      held: false,
      result: null,
      cancelled: false,
      durationMs: 3,
      ...more,
    });
  /** The answer to a call that was refused before it could be frozen. */
  refused = (status: Outcome) =>
    this.executed(status, { call: { ...this.ref, schemaDigest: null, digest: null }, arguments: box });
}

export class TaskMaker {
  readonly work: TaskWork;
  constructor(
    readonly id: string,
    work: Partial<TaskWork> = {},
  ) {
    this.work = { conversationId: 'talk', agent: 'secretary', principal: ADA, ...work };
    if (this.work.wakeUp === undefined) this.work.prompt = box;
  }
  /** The task that wakes the agent of a held call. */
  static waking(id: string, call: CallMaker, says: Partial<NonNullable<TaskWork['wakeUp']>>) {
    const wakeUp: NonNullable<TaskWork['wakeUp']> = {
      callId: call.id,
      number: call.number,
      tool: call.ref.tool,
      action: call.ref.action,
      outcome: 'executed',
      status: null,
      settled: false,
      reasonCode: null,
      by: BOB,
      result: null,
      reason: null,
      ...says,
    };
    return new TaskMaker(id, { wakeUp, conversationId: call.ref.conversationId, principal: call.ref.principal });
  }
  run = (id: string, attempt = 1) =>
    new RunMaker(id, {
      conversationId: this.work.conversationId,
      principal: this.work.principal,
      taskId: this.id,
      attempt,
    });
  created = () =>
    make('task.created', this.id, {
      work: this.work,
      createdBy: { kind: 'service', id: 'taskboard' },
      dueAt: BEFORE_DEADLINE,
    });
  ready = (attempt = 1) => make('task.ready', this.id, { work: this.work, attempt, leaseUntil: DEADLINE });
  completed = (runId: string, attempt = 1) => make('task.completed', this.id, { attempt, runId });
  retried = (attempt = 1, by: Principal | null = null) =>
    make('task.retried', this.id, { attempt, dueAt: DEADLINE, reason: 'run-failed', by });
  died = (attempts = 1) => make('task.died', this.id, { attempts, reason: 'run-failed' });
  cancelled = (runId: string | null = null) => make('task.cancelled', this.id, { by: ADA, reason: 'person', runId });
}
