import {
  type CallRef,
  catalogue,
  type EventData,
  type EventType,
  type HoldpointEvent,
  parseEvent,
  schemaUri,
  sourceOf,
  subjectOf,
} from '@holdpoint/contracts';

/** Stands for the sequence that the message itself gets. */
export const ITS_OWN = -1;

/** What goes into a log, and what should stand behind it there. */
export interface Message {
  subject: string;
  body: Buffer;
  duplicate?: true;
  fault?: string;
  entry?: Record<string, unknown>;
  receipt?: Record<string, unknown>;
}
/** Gives messages one by one and is told the sequence of each. */
export type Story = Generator<Message, void, number>;

/** The same numbers for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SPACE = 'acme';
const ANN = { kind: 'person', id: 'ann' } as const;
const BOB = { kind: 'person', id: 'bob@example.org' } as const;

let made = 0;
const box = () => ({ kid: 'k1', iv: 'AAAAAAAAAAAAAAAA', ct: Buffer.from(`sealed ${++made}`).toString('base64url') });

function message<T extends EventType>(type: T, entity: string, data: EventData<T>, ids: object = {}): Message {
  const event = {
    ...{ specversion: '1.0', id: `e${++made}`, type, source: sourceOf(catalogue[type].publisher), subject: entity },
    ...{ time: new Date(Date.UTC(2030, 0, 1) + made).toISOString(), datacontenttype: 'application/json' },
    ...{ dataschema: schemaUri(type, catalogue[type].version), spaceid: SPACE, ...ids, data },
  } as unknown as HoldpointEvent<T>;
  const body = JSON.stringify(event);
  parseEvent(JSON.parse(body));
  return { subject: subjectOf(event), body: Buffer.from(body) };
}

/** One call, told by what becomes of it; entries are written down here word for word, and derived from nothing. */
class Call {
  readonly ref;
  readonly ids;
  readonly common;
  constructor(
    readonly id: string,
    ref: Partial<CallRef> = {},
    withRun = true,
  ) {
    this.ref = {
      ...{ agent: 'Schreiber »ü«', model: 'scripted', source: 'webview', principal: ANN, conversationId: 'talk' },
      ...{ server: 'builtin', tool: 'Mail', action: 'send', schemaDigest: '0'.repeat(64), digest: '1'.repeat(64) },
      ...ref,
    } as CallRef & { schemaDigest: string; digest: string };
    this.ids = { callid: id, ...(withRun ? { runid: `run-${id}` } : {}) };
    const { agent, model, source, principal, server, tool, action, taskId, conversationId } = this.ref;
    this.common = {
      ...{ spaceId: SPACE, runId: withRun ? `run-${id}` : null, taskId: taskId ?? null, callId: id, conversationId },
      ...{ agent, model, source, principal, server, tool, action, note: '', argumentsSeq: null, noteSeq: null },
    };
  }
  #event = <T extends EventType>(type: T, data: object) =>
    message(type, this.id, { call: this.ref, ...data } as EventData<T>, this.ids);
  with = (m: Message, entry: object): Message => ({ ...m, entry: { ...this.common, ...entry } });
  proposed = () =>
    this.#event('tool.proposed', {
      ...{ frozen: box(), argumentBytes: 1, hint: 'write', scope: 'user', executionClass: 'at-most-once' },
      ...{ origin: 'builtin', step: 1, index: 0 },
    });
  verdict = (verdict: string) =>
    this.#event('policy.decided', {
      ...{ verdict, reason: 'rule', rule: 'builtin: Mail.send', policyVersion: 'v1', mode: 'enforce', flags: [] },
      proposalSeq: 1,
    });
  started = (held = false) => this.#event('tool.started', { attempt: 1, held });
  executed = (data: object = {}) =>
    this.#event('tool.executed', {
      status: 'Ok',
      held: false,
      result: box(),
      cancelled: false,
      durationMs: 1,
      ...data,
    });
  abandoned = (reason: string) => this.#event('tool.abandoned', { reason });
  staged = (number: number, flags: string[]) =>
    this.#event('call.staged', {
      ...{ number, hint: 'write', expiresAt: '2030-01-02T00:00:00Z', rule: 'builtin: Mail.send', policyVersion: 'v1' },
      flags,
    });
  decided = (data: object) =>
    this.#event('approval.decided', {
      ...{ number: 1, decision: 'approved', by: BOB, decidedAt: '2030-01-01T00:00:00Z', reason: null, cause: 'person' },
      ...{ policyVersion: 'v1', ...data },
    });
}

function* auto(id: string): Story {
  const call = new Call(id, { action: null });
  const argumentsSeq = yield call.proposed();
  yield call.verdict('auto');
  yield call.started();
  yield call.with(call.executed(), { entryKind: 'outcome', status: 'Ok', argumentsSeq });
}

function* held(id: string): Story {
  const call = new Call(id, { taskId: `task-${id}`, source: 'task' });
  const argumentsSeq = yield call.proposed();
  yield call.verdict('approve');
  yield call.with(call.staged(42, ['injection', 'big']), {
    ...{ entryKind: 'staging', status: 'Staged', argumentsSeq },
    note: 'held as acme#42; builtin: Mail.send; flags: injection, big',
  });
  yield call.with(call.decided({ frozen: box() }), {
    ...{ entryKind: 'decision', status: 'Ok', source: 'approval', principal: BOB, argumentsSeq },
    note: 'approved by bob@example.org',
  });
  yield call.started(true);
  const note = 'released by a person; settled by service staging';
  yield call.with(call.executed({ held: true, settledBy: { kind: 'service', id: 'staging' } }), {
    ...{ entryKind: 'outcome', status: 'Ok', note, argumentsSeq },
  });
}

function* rejected(id: string): Story {
  const call = new Call(id, {}, false);
  const argumentsSeq = yield call.proposed();
  yield call.verdict('approve');
  yield call.with(call.staged(7, []), {
    ...{ entryKind: 'staging', status: 'Staged', note: 'held as acme#7; builtin: Mail.send', argumentsSeq },
  });
  const decided = call.decided({ decision: 'withdrawn', by: null, cause: 'policy-denied', reason: box() });
  yield call.with(decided, {
    ...{ entryKind: 'decision', status: 'Denied', source: 'approval', note: 'withdrawn; policy-denied', argumentsSeq },
    ...{ principal: { kind: 'service', id: 'policy' }, noteSeq: ITS_OWN },
  });
}

function* refused(id: string): Story {
  const call = new Call(id, { schemaDigest: null, digest: null });
  yield call.with(call.executed({ status: 'Error', reason: 'arguments.no-object', result: null, arguments: box() }), {
    ...{ entryKind: 'outcome', status: 'Error', note: 'arguments.no-object', argumentsSeq: ITS_OWN },
  });
}

function* givenUp(id: string): Story {
  const call = new Call(id);
  const argumentsSeq = yield call.proposed();
  yield call.with(call.abandoned('no-verdict'), {
    ...{ entryKind: 'outcome', status: 'Denied', argumentsSeq },
    note: 'no-verdict; policy gave no verdict in time',
  });
  yield call.verdict('deny');
}

function* tooLate(id: string): Story {
  const call = new Call(id);
  yield call.proposed();
  yield call.verdict('auto');
  yield call.abandoned('engine-lost');
  yield call.executed({ status: 'Denied', cancelled: true, result: null });
}

function* run(id: string): Story {
  const provenance = {
    agent: 'secretary',
    model: 'scripted',
    source: 'direct',
    principal: ANN,
    conversationId: 'talk',
  } as const;
  const usage = { promptTokens: 10, completionTokens: 2, cachedTokens: 0 };
  yield message('run.queued', id, { ...provenance, prompt: box() }, { runid: id });
  yield message('run.started', id, { ...provenance, engine: 'engine-1' }, { runid: id });
  const completed = (cost: string) =>
    message(
      'run.completed',
      id,
      {
        ...provenance,
        status: 'ok',
        steps: 2,
        usage,
        cost: { amount: cost, known: true },
        result: box(),
        durationMs: 5,
      },
      { runid: id },
    );
  const receipt = {
    ...{ runId: id, spaceId: SPACE, ...provenance, attempt: null, status: 'ok', reason: null, steps: 2, usage },
    ...{ cost: { amount: '0.0120', known: true }, resultSeq: ITS_OWN, durationMs: 5 },
  };
  yield { ...completed('0.0120'), receipt };
  yield completed('9'); // a second one changes nothing
}

function* erased(id: string): Story {
  yield message('run.key-destroyed', id, { conversationId: id, kid: 'k1', by: BOB, reason: 'asked for' });
}

function* unreadable(id: string): Story {
  yield { subject: `tool.executed.acme.${id}`, body: Buffer.from([0xff, 0xfe, 0x00]), fault: 'not-utf8' };
  yield { subject: `run.odd.acme.${id}`, body: Buffer.from('{"half":'), fault: 'not-json' };
  yield {
    subject: `run.odd.acme.${id}`,
    body: Buffer.from('{"type":"run.odd","text":"\\u0000\u{1F600}"}'),
    fault: 'not-an-event',
  };
  yield { ...new Call(id).executed(), fault: 'broker-headers' };
}

/** Tells a story's messages twice. */
function* twice(story: Story): Story {
  for (let next = story.next(); !next.done; ) {
    const seq: number = yield next.value;
    const { subject, body, fault } = next.value;
    if (fault === undefined) yield { subject, body, duplicate: true };
    next = story.next(seq);
  }
}

const STORIES = [
  auto,
  held,
  rejected,
  refused,
  givenUp,
  tooLate,
  run,
  erased,
  unreadable,
  (id: string) => twice(held(id)),
  (id: string) => twice(run(id)),
];

/** Starts stories of all kinds, one after the other and then at random. */
export function* stories(next: () => number): Generator<Story, never> {
  for (let i = 0; ; i++) {
    const make = STORIES[i < STORIES.length ? i : Math.floor(next() * STORIES.length)] as (id: string) => Story;
    yield make(`x${++made}`);
  }
}
