import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ApprovalSummary, approvalSummary, doubtView, page, type RunView, taskView } from '@holdpoint/contracts';
import { type Stack, startStack } from '@holdpoint/local';
import { z } from 'zod';
import { Api, until } from '../api.js';
import { holdpoint } from '../holdpoint.js';
import type { Probe } from './probe.js';
import { makeProbes } from './probes.js';
import { random, shuffled } from './random.js';

/** Where the engine stops: after what is named has happened, before the next thing can. */
export const POINTS = ['claim', 'effect', 'result', 'publish', 'ack'] as const;
export const DEATHS = ['kill', 'freeze'] as const;
export type Point = (typeof POINTS)[number];
type Death = (typeof DEATHS)[number];

export interface CrashOptions {
  /** A folder of the run's own. */
  home: string;
  seeds: number[];
  /** Names of probes; default all. */
  probes?: string[];
  /** Names of probes that are left out. */
  without?: string[];
  points?: readonly Point[];
  deaths?: readonly Death[];
  /** Of all combinations of probe, point and death that many a seed; default all. */
  sample?: number;
  say: (text: string) => void;
}

export interface CrashResult {
  seeds: number;
  calls: number;
  crashes: number;
  /** Calls that took effect at their remote end. */
  effects: number;
  /** Calls that took effect more than once. */
  twice: number;
  /** Calls whose recorded outcome is not what the remote end says. */
  untrue: number;
  inDoubt: number;
  /** Calls that are neither closed nor in doubt. */
  stuck: number;
  woken: number;
  violations: number;
}

interface Incident {
  probe: Probe;
  point: Point;
  death: Death;
}

/**
 * Guarantee G4 on systems of its own with two instances of each service: for each combination a call is released and the
 * engine that has it is killed, or frozen until the call has come to an end elsewhere; a second call of the kind is in
 * flight beside it. What happened is counted at the remote ends.
 */
export async function crashRun(o: CrashOptions): Promise<CrashResult> {
  const probes = makeProbes().filter((p) => (o.probes?.includes(p.name) ?? true) && !o.without?.includes(p.name));
  const incidents = probes.flatMap((probe) =>
    (o.points ?? POINTS).flatMap((point) => (o.deaths ?? DEATHS).map((death): Incident => ({ probe, point, death }))),
  );
  const plan = o.seeds.flatMap((seed) =>
    shuffled(incidents, random(seed))
      .slice(0, o.sample)
      .map((incident) => ({ seed, incident })),
  );
  const result: CrashResult = {
    seeds: o.seeds.length,
    calls: 0,
    crashes: 0,
    effects: 0,
    twice: 0,
    untrue: 0,
    inDoubt: 0,
    stuck: 0,
    woken: 0,
    violations: 0,
  };
  const together = probes.filter((p) => !p.alone);
  for (const system of [together, ...probes.filter((p) => p.alone).map((p) => [p])]) {
    const planned = plan.filter(({ incident }) => system.includes(incident.probe));
    if (planned.length === 0) continue;
    const trial = await Trial.start(join(o.home, system[0]?.name ?? ''), system, 2 * planned.length);
    try {
      for (const { seed, incident } of planned) {
        const from = performance.now();
        const counted = await trial.play(incident);
        for (const [key, n] of Object.entries(counted)) result[key as keyof CrashResult] += n;
        const { probe, point, death } = incident;
        const took = ((performance.now() - from) / 1000).toFixed(1);
        o.say(
          `seed ${seed}: ${death} at ${point} of ${probe.name} (${probe.executionClass}), ${took} s: ${JSON.stringify(counted)}`,
        );
      }
      result.violations += await trial.violations(o.say);
    } finally {
      await trial.stop();
    }
  }
  return result;
}

type Counted = Pick<CrashResult, 'calls' | 'crashes' | 'effects' | 'twice' | 'untrue' | 'inDoubt' | 'stuck' | 'woken'>;

class Trial {
  readonly #engine: Api;
  readonly #staging: Api;
  readonly #taskboard: Api;
  #n = 0;

  private constructor(
    private readonly stack: Stack,
    private readonly home: string,
    private readonly remotes: { stop(): Promise<void> }[],
  ) {
    const api = (service: keyof typeof stack.urls) =>
      new Api({ url: stack.urls[service], token: stack.people['ada'] ?? '' });
    this.#engine = api('engine');
    this.#staging = api('staging');
    this.#taskboard = api('taskboard');
  }

  static async start(home: string, probes: Probe[], calls: number): Promise<Trial> {
    await mkdir(home, { mode: 0o711 });
    const scripts = probes.flatMap((probe) =>
      Array.from({ length: calls }, (_, i) => {
        const call = { tool: probe.name.split('.')[0], arguments: probe.args(i + 1) };
        return {
          when: `^${probe.name} ${i + 1}$`,
          turns: [{ text: 'I propose.', calls: [call] }, { text: 'Proposed.' }],
        };
      }),
    );
    await writeFile(join(home, 'script.yaml'), JSON.stringify({ scripts }));
    await writeFile(
      join(home, 'holdpoint.yaml'),
      JSON.stringify({
        agents: {
          prober: {
            space: 'acme',
            model: 'scripted',
            script: 'script.yaml',
            tools: [...new Set(probes.map((p) => p.name.split('.')[0]))],
          },
        },
        policy: { rules: [{ tool: 'FileRW', verdict: 'approve' }] },
      }),
    );
    const remotes = await Promise.all(probes.flatMap((p) => (p.remote ? [p.remote()] : [])));
    const stack = await startStack({
      home: join(home, 'state'),
      ports: 'free',
      env: {
        HOLDPOINT_CONFIG: join(home, 'holdpoint.yaml'),
        POLICY_RATE_LIMIT: '100000/1',
        HOLDPOINT_CRASH_FILE: join(home, 'crash-at'),
        HOLDPOINT_INSTANCES: '2',
        NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, 'crash-at.js')).href}`,
        HOLDPOINT_ACK_WAIT_MS: '1000',
        EXECUTION_LEASE_MS: '1000',
        MAIL_TIMEOUT_MS: '1000',
        DATABASE_TOOL_TIMEOUT_MS: '1000',
        FILERW_TIMEOUT_MS: '1000',
        ATTEMPT_BACKOFF_MS: '200',
        RUN_LOST_AFTER_MS: '3000',
        TASK_LEASE_MS: '3000',
        TASK_SCAN_MS: '200',
        TASK_RETRY_BASE_MS: '200',
        ...Object.assign({}, ...remotes.map((r) => r.env)),
      },
    }).catch(async (error: unknown) => {
      await Promise.all(remotes.map((r) => r.stop()));
      throw error;
    });
    return new Trial(stack, home, remotes);
  }

  async play({ probe, point, death }: Incident): Promise<Counted> {
    const calls = [await this.#hold(probe), await this.#hold(probe)];
    const control = join(this.home, 'crash-at');
    await Promise.all([control, `${control}.taken`, `${control}.pid`].map((f) => rm(f, { force: true })));
    const signal = death === 'kill' ? 'SIGKILL' : 'SIGSTOP';
    await writeFile(control, `agent-engine ${point} ${signal}${partOf(point)}`);
    await Promise.all(calls.map((c) => this.#release(c.approval)));
    const pid = await until(
      `the engine to stop at ${point}`,
      () => readFile(`${control}.pid`, 'utf8').catch(() => undefined),
      30_000,
    );

    const ended = await this.#ended(calls.map((c) => c.id)).catch(() => undefined);
    if (death === 'freeze') process.kill(Number(pid), 'SIGCONT');
    await this.stack.ready();
    const counted: Counted = {
      calls: calls.length,
      crashes: 1,
      effects: 0,
      twice: 0,
      untrue: 0,
      inDoubt: 0,
      stuck: 0,
      woken: 0,
    };
    const late = ended ?? (await this.#ended(calls.map((c) => c.id)).catch(() => undefined));
    if (late === undefined) return { ...counted, stuck: calls.length };

    for (const call of calls) {
      const effects = await probe.effects(this.stack, call);
      const { execution, outcome } = await this.#approval(call.id);
      counted.effects += effects > 0 ? 1 : 0;
      if (effects > 1) counted.twice += 1;
      if (execution === 'in-doubt') {
        counted.inDoubt += 1;
        const { items } = await this.#engine.get('/v1/doubts', page(doubtView));
        if (!items.some((d) => d.callId === call.id)) counted.stuck += 1;
        await this.#engine.ask('POST', `/v1/calls/${call.id}/settle`, { happened: effects > 0 });
      } else if ((outcome === 'Ok') !== effects > 0) counted.untrue += 1;
    }
    await until(
      'every wake-up',
      async () => {
        const tasks = await Promise.all(
          calls.map((c) => this.#taskboard.get(`/v1/tasks?call=${c.id}`, page(taskView))),
        );
        return tasks.every((t) => t.items.some((i) => i.state === 'done')) ? true : undefined;
      },
      60_000,
    );
    return { ...counted, woken: calls.length };
  }

  async violations(say: (text: string) => void): Promise<number> {
    const report = z.looseObject({ violations: z.array(z.unknown()) });
    const check = async () =>
      report.parse(JSON.parse((await holdpoint(this.stack.home, 'ada', '--json', 'check', '--settled')).stdout));
    const clean = async () => ((await check()).violations.length === 0 ? true : undefined);
    if (await until('the stream to come to rest', clean).catch(() => false)) return 0;
    const { violations } = await check();
    say(JSON.stringify(violations, null, 2));
    return violations.length;
  }

  async stop(): Promise<void> {
    await this.stack.stop();
    await Promise.all(this.remotes.map((r) => r.stop()));
  }

  /** One call of the probe, held. */
  async #hold(probe: Probe): Promise<{ id: string; n: number; approval: ApprovalSummary }> {
    this.#n += 1;
    const n = this.#n;
    await probe.prepare?.(this.stack, n);
    const { body } = await this.#engine.ask('POST', '/v1/agents/prober/runs', { prompt: `${probe.name} ${n}` });
    const run = (body as RunView).id;
    const approval = await until(`${probe.name} to be held`, async () => {
      const { items } = await this.#staging.get('/v1/approvals?status=pending&limit=50', page(approvalSummary));
      return items.find((a) => a.runId === run);
    });
    return { id: approval.id, n, approval };
  }

  async #release(call: ApprovalSummary): Promise<void> {
    const body = { decision: 'approve', digest: call.digest };
    const { status } = await this.#staging.ask('POST', `/v1/approvals/${call.id}/decision`, body);
    if (status !== 200) throw new Error(`the approval of ${call.id} was answered ${status}`);
  }

  #approval(id: string) {
    return this.#staging.get(`/v1/approvals/${id}`, approvalSummary);
  }

  #ended(calls: string[]): Promise<true> {
    return until(
      'the calls to be closed or in doubt',
      async () => {
        const states = await Promise.all(calls.map((c) => this.#approval(c)));
        return states.every((s) => s.execution === 'closed' || s.execution === 'in-doubt') ? true : undefined;
      },
      30_000,
    );
  }
}

const partOf = (point: Point): string =>
  point === 'publish' ? ' tool.executed' : point === 'ack' ? ' approval.decided' : '';
