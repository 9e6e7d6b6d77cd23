import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ApprovalSummary, approvalSummary, doubtView, page, type RunView, taskView } from '@holdpoint/contracts';
import { startStack } from '@holdpoint/local';
import { z } from 'zod';
import { Api, until } from './api.js';
import { holdpoint } from './holdpoint.js';

/** Where the engine dies: after what is named has happened, before the next thing can. */
export const POINTS = ['claim', 'effect', 'result', 'publish', 'ack'] as const;
type Point = (typeof POINTS)[number];

export interface CrashResult {
  seeds: number;
  calls: number;
  crashes: number;
  sent: number;
  /** Calls whose mail the server got more than once. */
  twice: number;
  inDoubt: number;
  /** Calls that are neither closed nor in doubt. */
  stuck: number;
  woken: number;
  violations: number;
}

/** Two more mails than deaths, so that some are in flight beside the one that dies. */
export const CALLS = POINTS.length + 2;

/** Deterministic from its seed (mulberry32), so that a failure can be run again. */
function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function shuffled<T>(items: readonly T[], next: () => number): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}

/**
 * Guarantee G4 for `Mail.send`, at-most-once: a system of its own, one agent that proposes a mail a crash point, each
 * released and the engine killed at the point, in an order that the seed gives; some are released together. What the mail server
 * got is counted at the mail server.
 */
export async function crashRun(o: {
  home: string;
  seeds: number[];
  say: (text: string) => void;
}): Promise<CrashResult> {
  const control = join(o.home, 'crash-at');
  const config = join(o.home, 'config');
  await writeConfig(config);
  const stack = await startStack({
    home: join(o.home, 'state'),
    ports: 'free',
    env: {
      HOLDPOINT_CONFIG: `${config}.yaml`,
      HOLDPOINT_CRASH_FILE: control,
      NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, 'crash-at.js')).href}`,
      EXECUTION_LEASE_MS: '1000',
      MAIL_TIMEOUT_MS: '1000',
      HOLDPOINT_ACK_WAIT_MS: '1000',
      RUN_LOST_AFTER_MS: '3000',
      TASK_LEASE_MS: '3000',
      TASK_SCAN_MS: '200',
      TASK_RETRY_BASE_MS: '200',
    },
  });
  const api = (service: keyof typeof stack.urls) =>
    new Api({ url: stack.urls[service], token: stack.people['ada'] ?? '' });
  const [engine, staging, taskboard] = [api('engine'), api('staging'), api('taskboard')];
  const result: CrashResult = {
    seeds: o.seeds.length,
    calls: 0,
    crashes: 0,
    sent: 0,
    twice: 0,
    inDoubt: 0,
    stuck: 0,
    woken: 0,
    violations: 0,
  };
  const doubts = () => engine.get('/v1/doubts', page(doubtView)).then((d) => d.items);

  async function release(call: ApprovalSummary): Promise<void> {
    const body = { decision: 'approve', digest: call.digest };
    const { status } = await staging.ask('POST', `/v1/approvals/${call.id}/decision`, body);
    if (status !== 200) throw new Error(`the approval of ${call.id} was answered ${status}`);
  }

  /** One seed: five held mails, five deaths. */
  async function play(seed: number): Promise<string[]> {
    const next = random(seed);
    const started = await engine.ask('POST', '/v1/agents/mailer/runs', { prompt: 'send' });
    const { id } = started.body as RunView;
    const held = await until('the held mails', async () => {
      const { items } = await staging.get('/v1/approvals?status=pending&limit=50', page(approvalSummary));
      const mine = items.filter((a) => a.runId === id);
      return mine.length === CALLS ? mine : undefined;
    });
    const order = shuffled(POINTS, next);
    const waiting = shuffled(held, next);
    while (order.length > 0) {
      const point = order.shift() as Point;
      const before = await until('the engine', () => stack.pid('agent-engine'));
      await writeFile(control, orderFor(point));
      const spare = waiting.length - order.length - 1;
      const batch = waiting.splice(0, order.length === 0 ? waiting.length : 1 + Math.floor(next() * (spare + 1)));
      await Promise.all(batch.map(release));
      await until(
        `the death at ${point}`,
        async () => {
          const now = await stack.pid('agent-engine');
          return now !== undefined && now !== before ? now : undefined;
        },
        60_000,
      );
      result.crashes += 1;
      await stack.ready();
    }
    return held.map((h) => h.id);
  }

  try {
    for (const seed of o.seeds) {
      const calls = await play(seed);
      result.calls += calls.length;
      const closed = (call: string) =>
        staging.get(`/v1/approvals/${call}`, approvalSummary).then((a) => a.execution === 'closed');
      const settled = await until(
        'every call to be closed or in doubt',
        async () => {
          const open = new Set((await doubts()).map((d) => d.callId));
          const states = await Promise.all(calls.map(async (c) => open.has(c) || (await closed(c))));
          return states.every(Boolean) ? [...open] : undefined;
        },
        60_000,
      ).catch(() => undefined);
      if (settled === undefined) {
        const states = await Promise.all(calls.map(closed));
        result.stuck += states.filter((s) => !s).length;
        continue;
      }
      const got = await mails(stack.home);
      for (const call of calls) {
        const count = got.get(call) ?? 0;
        result.sent += count > 0 ? 1 : 0;
        if (count > 1) result.twice += 1;
      }
      for (const call of settled) {
        result.inDoubt += 1;
        await engine.ask('POST', `/v1/calls/${call}/settle`, { happened: (got.get(call) ?? 0) > 0 });
      }
      await until(
        'every wake-up',
        async () => {
          const woken = await Promise.all(
            calls.map((c) =>
              taskboard.get(`/v1/tasks?call=${c}`, page(taskView)).then((t) => t.items.some((i) => i.state === 'done')),
            ),
          );
          return woken.every(Boolean) ? true : undefined;
        },
        120_000,
      );
      result.woken += calls.length;
      o.say(`seed ${seed}: ${calls.length} calls, ${POINTS.length} deaths, ${settled.length} in doubt`);
    }
    const checked = await until('the stream to come to rest', async () => {
      const said = await holdpoint(stack.home, 'ada', '--json', 'check', '--settled');
      const report = z.looseObject({ violations: z.array(z.unknown()) }).safeParse(safeJson(said.stdout));
      return report.success && report.data.violations.length === 0 ? report.data : undefined;
    }).catch(
      async () =>
        JSON.parse((await holdpoint(stack.home, 'ada', '--json', 'check', '--settled')).stdout) as {
          violations: unknown[];
        },
    );
    result.violations = checked.violations.length;
    if (result.violations > 0) o.say(JSON.stringify(checked.violations, null, 2));
    return result;
  } finally {
    await stack.stop();
  }
}

const orderFor = (point: Point): string =>
  ({
    claim: 'agent-engine claim',
    effect: 'agent-engine effect',
    result: 'agent-engine result',
    publish: 'agent-engine publish tool.executed',
    ack: 'agent-engine ack approval.decided',
  })[point];

/** Mails that the server took, by the call that its Message-ID names. */
async function mails(home: string): Promise<Map<string, number>> {
  const folder = join(home, 'demo', 'outbox');
  const got = new Map<string, number>();
  for (const name of await readdir(folder)) {
    const id = /^message-id:\s*<([a-z0-9]+)/im.exec(await readFile(join(folder, name), 'utf8'))?.[1] ?? 'unknown';
    got.set(id, (got.get(id) ?? 0) + 1);
  }
  return got;
}

async function writeConfig(path: string): Promise<void> {
  const calls = Array.from({ length: CALLS }, (_, i) => ({
    tool: 'Mail',
    arguments: JSON.stringify({ action: 'send', to: ['a@example.test'], subject: `Mail ${i}`, body: `Body ${i}\n` }),
  }));
  await writeFile(
    `${path}-script.yaml`,
    JSON.stringify({
      scripts: [
        { when: '^send$', turns: [{ text: 'I send.', calls }, { text: 'All proposed.' }] },
        { when: 'Your action', turns: [{ text: 'I heard.' }] },
      ],
    }),
  );
  await writeFile(
    `${path}.yaml`,
    `agents:\n  mailer:\n    space: acme\n    model: scripted\n    script: ${path}-script.yaml\n    tools: [Mail]\n`,
  );
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
