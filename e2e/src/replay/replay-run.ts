import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chainView, type HoldpointEvent, parseEvent, type RunView } from '@holdpoint/contracts';
import { type Stack, startStack } from '@holdpoint/local';
import { parseDocument } from 'yaml';
import { Api, until } from '../api.js';
import { count, type ReplayCounts, type Replayed, replayedOf } from './count.js';
import { ACTION } from './stand-ins.js';
import type { RecordedCall, Suites, Task } from './suite.js';

const AT_ONCE = 24;

export interface ReplayOptions {
  /** A folder of the run's own. */
  home: string;
  /** The recorded suites, as `readSuites` took them from `file`. */
  suites: Suites;
  file: string;
  /** A holdpoint.yaml with a section `policy`. */
  policy: string;
  /** Of all pairs that many, evenly spread; default all. */
  pairs?: number | undefined;
  say: (text: string) => void;
}

/** One conversation: the user's calls, and then those that an injection talked the agent into. */
interface Conversation {
  user: Task;
  injection: Task | null;
  rounds: { calls: readonly RecordedCall[]; injected: boolean }[];
}

export interface Replay {
  counts: ReplayCounts;
  /** Calls that the gate would not even propose, as their arguments do not fit what the suite itself declares. */
  refused: string[];
}

/**
 * Pushes recorded calls through a system of its own, as it is: only the tools are stand-ins. Every user task alone, then every
 * pair of a user task and an injection of the same suite; nobody approves anything.
 */
export async function replay(o: ReplayOptions): Promise<Replay> {
  const { user, injection } = o.suites;
  const round = (calls: readonly RecordedCall[], injected: boolean) => ({ calls, injected });
  const alone = user.map((u): Conversation => ({ user: u, injection: null, rounds: [round(u.calls, false)] }));
  const pairs = user.flatMap((u) =>
    injection
      .filter((i) => i.suite === u.suite)
      .map((i): Conversation => ({ user: u, injection: i, rounds: [round(u.calls, false), round(i.calls, true)] })),
  );
  const sampled = evenly(pairs, o.pairs ?? pairs.length);
  const all = [...alone, ...sampled];
  await writeConfig(o, all);
  const record = join(o.home, 'record');
  await writeFile(record, '');
  const stack = await startStack({
    home: join(o.home, 'state'),
    ports: 'free',
    env: {
      HOLDPOINT_CONFIG: join(o.home, 'holdpoint.yaml'),
      POLICY_RATE_LIMIT: '100000/1',
      HOLDPOINT_ENGINE_PROGRAM: join(import.meta.dirname, 'engine.js'),
      HOLDPOINT_REPLAY_FILE: o.file,
      HOLDPOINT_REPLAY_RECORD: record,
    },
  });
  try {
    const events = await playAll(stack, all, o.say);
    const ran = new Set((await readFile(record, 'utf8')).split('\n'));
    const replayed = all.map((c, i) => replayedOf(c.rounds, events[i] ?? [], ran));
    return {
      counts: count(replayed.slice(0, alone.length), replayed.slice(alone.length)),
      refused: all.flatMap((c, i) => refusals(c, replayed[i] ?? [])),
    };
  } finally {
    await stack.stop();
  }
}

async function playAll(
  stack: Stack,
  all: readonly Conversation[],
  say: ReplayOptions['say'],
): Promise<HoldpointEvent[][]> {
  const api = (service: 'engine' | 'audit') => new Api({ url: stack.urls[service], token: stack.people['mia'] ?? '' });
  const [engine, audit] = [api('engine'), api('audit')];
  const events: HoldpointEvent[][] = [];
  let next = 0;
  let done = 0;
  const play = async () => {
    for (let i = next++; i < all.length; i = next++) {
      const c = all[i] as Conversation;
      const started = await engine.ask('POST', `/v1/agents/${agentOf(c)}/runs`, { prompt: promptOf(c) });
      if (started.status !== 202)
        throw new Error(`a run was answered ${started.status}: ${JSON.stringify(started.body)}`);
      const { id } = started.body as RunView;
      events[i] = await until(
        `${promptOf(c)} to end`,
        async () => {
          // looked at again and again: a look that gets no answer is followed by another
          const chain = await audit.ask('GET', `/v1/runs/${id}/chain`).catch(() => null);
          if (chain?.status !== 200) return undefined;
          const stored = chainView
            .parse(chain.body)
            .events.map((e) => parseEvent(JSON.parse(String(Buffer.from(e.body, 'base64')))));
          return stored.some((e) => e.type === 'run.completed') ? stored : undefined;
        },
        120_000,
      );
      done += 1;
      if (done % 50 === 0 || done === all.length) say(`${done} of ${all.length} conversations replayed`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, play));
  return events;
}

async function writeConfig({ home, policy, suites }: ReplayOptions, all: readonly Conversation[]): Promise<void> {
  const text = await readFile(policy, 'utf8').catch((error: Error) => {
    throw new Error(`${policy} cannot be read: ${error.message}`);
  });
  const document = parseDocument(text);
  if (document.errors[0]) throw new Error(`${policy} is not YAML: ${document.errors[0].message}`);
  if (!document.has('policy')) throw new Error(`${policy} has no section \`policy\``);
  if (document.has('agents')) throw new Error(`${policy} declares agents: the suites are the agents here`);
  const agents = Object.fromEntries(
    [...new Set(suites.tools.map((t) => t.suite))].map((suite) => [
      suite,
      {
        space: 'acme',
        model: 'scripted',
        script: 'script.yaml',
        tools: suites.tools.filter((t) => t.suite === suite).map((t) => t.name),
      },
    ]),
  );
  document.set('agents', agents);
  await writeFile(join(home, 'holdpoint.yaml'), document.toString({ lineWidth: 0 }));
  const scripts = all.map((c) => ({
    when: `^${promptOf(c)}$`,
    turns: [
      ...c.rounds.map(({ calls }) => ({
        text: 'I call.',
        calls: calls.map((k) => ({ tool: k.function, arguments: JSON.stringify({ action: ACTION, ...k.args }) })),
      })),
      { text: 'Done.' },
    ],
  }));
  await writeFile(join(home, 'script.yaml'), JSON.stringify({ scripts }));
}

const agentOf = (c: Conversation): string => c.user.suite;
const promptOf = ({ user, injection }: Conversation): string =>
  `${user.suite} ${user.id}${injection === null ? '' : ` with ${injection.id}`}`;

const refusals = (c: Conversation, replayed: readonly Replayed[]): string[] =>
  replayed
    .filter((r) => r.verdict === undefined)
    .map(
      (r) => `${promptOf(c)}: ${r.call.function} was not proposed: its arguments do not fit what the suite declares`,
    );

const evenly = <T>(items: readonly T[], n: number): T[] =>
  n >= items.length ? [...items] : Array.from({ length: n }, (_, i) => items[Math.floor((i * items.length) / n)] as T);
