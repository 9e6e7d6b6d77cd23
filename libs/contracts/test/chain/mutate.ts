import { catalogue, type HoldpointEvent } from '../../src/index.js';
import { type CallMaker, make } from './make.js';

type Story = readonly HoldpointEvent[];
interface Mutation {
  /** Whether the grammar can know, given a settled valid story. */
  applies(story: Story, at: number, other: number): boolean;
  apply(story: Story, at: number, other: number): HoldpointEvent[];
}

const isSame = (a: HoldpointEvent, b: HoldpointEvent) =>
  a.subject === b.subject && catalogue[a.type].entity === catalogue[b.type].entity;
const hasCopy = (story: Story, e: HoldpointEvent) => story.filter((x) => x.id === e.id).length > 1;
const earlier = (story: Story, at: number, type: string) =>
  story.slice(0, at).some((e) => e.type === type && e.subject === story[at]?.subject);
/** Stored second, so that it counts for nothing. */
function isVoid(story: Story, at: number): boolean {
  const type = story[at]?.type;
  return (
    (type === 'tool.abandoned' && earlier(story, at, 'policy.decided')) ||
    (type === 'policy.decided' && earlier(story, at, 'tool.abandoned'))
  );
}
const nextOf = (story: Story, at: number) =>
  story.findIndex((e, i) => i > at && isSame(e, story[at] as HoldpointEvent));

function missed(story: Story, at: number): boolean {
  const e = story[at] as HoldpointEvent;
  if (hasCopy(story, e) || isVoid(story, at)) return false;
  const later = story.slice(at + 1).filter((x) => isSame(x, e));
  switch (e.type) {
    case 'approval.voted':
      return false;
    case 'tool.executed':
      return earlier(story, at, 'tool.proposed') && (e.data.held || e.data.settledBy === undefined);
    case 'approval.decided':
      return e.data.cause !== 'revised';
    case 'run.started':
      return later.some((x) => x.type === 'run.completed' && ['ok', 'interrupted'].includes(x.data.status));
    case 'task.ready': {
      const { attempt } = e.data;
      const offers = story.filter((x) => isSame(x, e) && x.type === 'task.ready' && x.data.attempt === attempt);
      const taken = story.some(
        (x) => x.type === 'run.queued' && x.data.taskId === e.subject && x.data.attempt === attempt,
      );
      return offers.length === 1 && taken;
    }
    case 'task.retried':
      return later.some((x) => x.type === 'task.ready');
    case 'task.died':
      return !later.some((x) => x.type === 'task.cancelled');
    case 'task.cancelled':
      return !earlier(story, at, 'task.died') && !earlier(story, at, 'task.cancelled') && later.length === 0;
    default:
      return true;
  }
}

/** What may befall a stream, and when the grammar must find it. */
export const mutations: Record<string, Mutation> = {
  drop: {
    applies: missed,
    apply: (story, at) => story.toSpliced(at, 1),
  },
  swap: {
    applies(story, at) {
      const with_ = nextOf(story, at);
      const [a, b] = [story[at], story[with_]];
      if (!a || !b || hasCopy(story, a) || hasCopy(story, b)) return false;
      if (a.type === b.type) return false;
      const race = [a.type, b.type].every((t) => t === 'policy.decided' || t === 'tool.abandoned');
      return race || !(isVoid(story, at) || isVoid(story, with_));
    },
    apply(story, at) {
      const with_ = nextOf(story, at);
      return story.with(at, story[with_] as HoldpointEvent).with(with_, story[at] as HoldpointEvent);
    },
  },
  'the same id with other bytes': {
    applies: () => true,
    apply: (story, at, other) =>
      story.toSpliced(at + 1 + (other % (story.length - at)), 0, {
        ...(story[at] as HoldpointEvent),
        time: '2031-01-01T00:00:00.000Z',
      }),
  },
  'the same fact told again': {
    applies: (story, at) => !['approval.voted', 'task.ready', 'task.retried'].includes(story[at]?.type as string),
    apply: (story, at, other) =>
      story.toSpliced(at + 1 + (other % (story.length - at)), 0, { ...(story[at] as HoldpointEvent), id: 'again' }),
  },
  'another digest': {
    applies(story, at) {
      const e = story[at] as HoldpointEvent;
      return 'call' in e.data && e.data.call.digest !== null && !isVoid(story, at);
    },
    apply(story, at) {
      const e = story[at] as HoldpointEvent<'tool.executed'>;
      const call = { ...e.data.call, digest: 'f'.repeat(64) };
      return story.with(at, { ...e, data: { ...e.data, call } });
    },
  },
  'a forged execution': {
    applies: (story, at) => story[at]?.type === 'tool.proposed',
    apply(story, at, other) {
      const e = story[at] as HoldpointEvent<'tool.proposed'>;
      const data: ReturnType<CallMaker['executed']>['data'] = {
        call: e.data.call,
        status: 'Ok',
        held: story.some((x) => isSame(x, e) && x.type === 'tool.started' && x.data.held),
        result: null,
        attempt: 1,
        cancelled: false,
        durationMs: 1,
      };
      return story.toSpliced(other % (story.length + 1), 0, make('tool.executed', e.subject, data, { runId: e.runid }));
    },
  },
};
