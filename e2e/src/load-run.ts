import { readFile } from 'node:fs/promises';
import {
  type ApprovalSummary,
  approvalSummary,
  page,
  type RunView,
  type ServiceName,
  type TaskView,
  taskView,
} from '@holdpoint/contracts';
import { type Stack, startStack } from '@holdpoint/local';
import { Api, until } from './api.js';
import { holdpoint } from './holdpoint.js';

export interface LoadResult {
  conversations: number;
  held: number;
  approved: number;
  rejected: number;
  woken: number;
  /** Conversations that did not get all of it. */
  lost: number;
  violations: number;
  seconds: number;
  /** Resident memory at its highest, in MiB. */
  memory: Record<string, number>;
}

const SERVICES: ServiceName[] = ['agent-engine', 'policy', 'staging', 'taskboard', 'audit'];

/** Many conversations at once on one machine: every second held call is approved, the others rejected. */
export async function loadRun(conversations: number, say: (text: string) => void): Promise<LoadResult> {
  const stack = await startStack({
    ports: 'free',
    env: { POLICY_RATE_LIMIT: '100000/1' },
  });
  try {
    const api = (service: keyof typeof stack.urls) =>
      new Api({ url: stack.urls[service], token: stack.people['ada'] ?? '' });
    const [engine, staging, taskboard] = [api('engine'), api('staging'), api('taskboard')];
    const from = performance.now();

    const prompt = 'Answer the newsletter.';
    const runs = await Promise.all(
      Array.from({ length: conversations }, async () => {
        const { status, body } = await engine.ask('POST', '/v1/agents/assistant/runs', { prompt });
        if (status !== 202) throw new Error(`a run was answered ${status}`);
        return body as RunView;
      }),
    );
    say(`${runs.length} conversations begun`);

    const held = await until(
      'every call to be held',
      async () => {
        const found = await all<ApprovalSummary>(staging, '/v1/approvals?status=pending', approvalSummary);
        return found.length === conversations ? found : undefined;
      },
      120_000,
    );
    say(`${held.length} calls held after ${seconds(from)} s`);
    let turnedAway = 0;
    await Promise.all(
      held.map(async (call, i) => {
        const decision = i % 2 === 0 ? 'approve' : 'reject';
        // who is told that policy could not be asked in time tries again, as the answer says
        await until(`a decision on ${call.id}`, async () => {
          const { status, body } = await staging.ask('POST', `/v1/approvals/${call.id}/decision`, {
            decision,
            digest: call.digest,
          });
          if (status === 200) return true;
          if (status !== 503)
            throw new Error(`the decision on ${call.id} was answered ${status}: ${JSON.stringify(body)}`);
          turnedAway += 1;
          return undefined;
        });
      }),
    );

    say(`${held.length} decided after ${seconds(from)} s, ${turnedAway} times asked to try again`);

    const woken = await until(
      'every wake-up',
      async () => {
        const done = await all<TaskView>(taskboard, '/v1/tasks?state=done', taskView);
        return done.length >= conversations ? done : undefined;
      },
      120_000,
    );
    const took = seconds(from);
    say(`${woken.length} agents woken after ${took} s`);
    const memory = await memoryOf(stack);
    const { violations, counts } = await until('the stream to come to rest', async () => {
      const said = await holdpoint(stack.home, 'ada', '--json', 'check', '--settled');
      return said.code === 0 ? (JSON.parse(said.stdout) as Checked) : undefined;
    });
    const reached = new Set(woken.map((t) => t.conversationId));
    return {
      conversations,
      held: counts['held'] ?? 0,
      approved: counts['approved'] ?? 0,
      rejected: counts['rejected'] ?? 0,
      woken: counts['woken'] ?? 0,
      lost: runs.filter((r) => !reached.has(r.conversationId)).length,
      violations: violations.length,
      seconds: Number(took),
      memory,
    };
  } finally {
    await stack.stop();
  }
}

interface Checked {
  violations: unknown[];
  counts: Record<string, number>;
}

const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(1);

async function all<T>(api: Api, path: string, item: Parameters<typeof page>[0]): Promise<T[]> {
  const items: T[] = [];
  for (let cursor = ''; ; ) {
    const next = await api.get(`${path}&limit=100${cursor}`, page(item));
    items.push(...(next.items as T[]));
    if (next.nextCursor === undefined) return items;
    cursor = `&cursor=${encodeURIComponent(next.nextCursor)}`;
  }
}

async function memoryOf(stack: Stack): Promise<Record<string, number>> {
  const peak = async (name: ServiceName | 'nats') => {
    const status = await readFile(`/proc/${await stack.pid(name)}/status`, 'utf8').catch(() => '');
    return Math.round(Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
  };
  return Object.fromEntries(
    await Promise.all([...SERVICES, 'nats' as const].map(async (n) => [n, await peak(n)] as const)),
  );
}
