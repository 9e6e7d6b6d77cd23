import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approvalSummary, doubtView, page, type RunView, runView, STREAM } from '@holdpoint/contracts';
import { connectBus } from '@holdpoint/eventing';
import { type Stack, startStack } from '@holdpoint/local';
import { DATABASE_NAME, databaseUrl } from '@holdpoint/provision';
import { openDatabase } from '@holdpoint/runtime';
import { type Kysely, sql } from 'kysely';
import { Api, until } from '../../src/api.js';

export interface Facts {
  /** `seq subject body` of each entry of an outbox; `unsent` in place of the sequence until it is stored. */
  outboxes: string[];
  /** `type entity` that the rows of the services' own tables promise. */
  promised: string[];
  /** `seq subject body`. */
  stream: string[];
  audit: string[];
  deadLetters: number;
}

/** The whole system with an agent that proposes one mail a run, and load on it: runs, and a person who approves. */
export class System {
  /** What was answered with yes: each of it is a committed fact. */
  readonly acknowledged: { runs: string[]; approvals: string[] } = { runs: [], approvals: [] };
  readonly #stopping = new AbortController();
  #load: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly stack: Stack,
    readonly superuser: Kysely<never>,
    private readonly home: string,
  ) {}

  static async start(): Promise<System> {
    const home = await mkdtemp(join(tmpdir(), 'holdpoint-guarantee-'));
    // PostgreSQL does not run as root: its user has to get through to its own folder.
    await chmod(home, 0o711);
    const config = await writeConfig(home);
    const stack = await startStack({
      home: join(home, 'state'),
      env: {
        HOLDPOINT_CONFIG: config,
        POLICY_RATE_LIMIT: '100000/1',
        EXECUTION_LEASE_MS: '2000',
        MAIL_TIMEOUT_MS: '2000',
        HOLDPOINT_ACK_WAIT_MS: '2000',
        RUN_LOST_AFTER_MS: '3000',
        TASK_LEASE_MS: '3000',
        TASK_SCAN_MS: '200',
        TASK_RETRY_BASE_MS: '200',
      },
    });
    const { superuser: password } = JSON.parse(await readFile(stack.paths.secrets, 'utf8')) as { superuser: string };
    const [, , , port] = (await readFile(join(stack.paths.postgres, 'postmaster.pid'), 'utf8')).split('\n');
    const root = `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
    return new System(stack, openDatabase<never>(databaseUrl(root, DATABASE_NAME), { max: 2 }), home);
  }

  api(service: keyof Stack['urls']): Api {
    return new Api({ url: this.stack.urls[service], token: this.stack.people['ada'] ?? '' });
  }

  /** Keeps `people` busy, each with a run after the other and whatever waits for an approval, until `calm`. */
  load(people: number): void {
    this.#load = Promise.all(Array.from({ length: people }, () => this.#person()));
  }

  async calm(): Promise<void> {
    this.#stopping.abort();
    await this.#load;
  }

  async #person(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const started = await this.#quietly(() =>
        this.api('engine').ask('POST', '/v1/agents/mailer/runs', { prompt: 'send' }),
      );
      if (started?.status === 202) {
        const { id } = started.body as RunView;
        this.acknowledged.runs.push(id);
        await until('the run', () => this.#isOver(id), 10_000).catch(() => undefined);
      }
      await this.decideAll();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Approves what waits, and settles what is in doubt. @returns how much there was */
  async decideAll(): Promise<number> {
    const staging = this.api('staging');
    const pending = await this.#quietly(() =>
      staging.get('/v1/approvals?status=pending&limit=50', page(approvalSummary)),
    );
    for (const call of pending?.items ?? []) {
      const body = { decision: 'approve', digest: call.digest };
      const decided = await this.#quietly(() => staging.ask('POST', `/v1/approvals/${call.id}/decision`, body));
      if (decided?.status === 200) this.acknowledged.approvals.push(call.id);
    }
    const doubts = await this.#quietly(() => this.api('engine').get('/v1/doubts', page(doubtView)));
    for (const { callId } of doubts?.items ?? [])
      await this.#quietly(() => this.api('engine').ask('POST', `/v1/calls/${callId}/settle`, { happened: true }));
    return (pending?.items.length ?? 1) + (doubts?.items.length ?? 1);
  }

  async #isOver(run: string): Promise<true | undefined> {
    if (this.#stopping.signal.aborted) return true;
    const seen = await this.#quietly(() => this.api('engine').get(`/v1/runs/${run}`, runView));
    return seen && !['queued', 'running'].includes(seen.state) ? true : undefined;
  }

  /** While things are being killed, no answer is one too. */
  async #quietly<T>(ask: () => Promise<T>): Promise<T | undefined> {
    return ask().catch(() => undefined);
  }

  /** `holdpoint check --settled`: reads the stream alone. */
  check(): Promise<{ code: number; stdout: string; stderr: string }> {
    const cli = join(import.meta.dirname, '../../../cli/dist/src/main.js');
    const env = { ...process.env, HOLDPOINT_HOME: this.stack.home };
    return new Promise((resolve) =>
      execFile(process.execPath, [cli, 'check', '--settled'], { env }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : 1, stdout, stderr }),
      ),
    );
  }

  /** Rows, stream and audit log as they are now. */
  async facts(): Promise<Facts> {
    const outboxes: string[] = [];
    let deadLetters = 0;
    for (const schema of ['agent_engine', 'policy', 'staging', 'taskboard']) {
      const rows = await this.#rows<{ seq: string | null; subject: string; body: string }>(
        `SELECT seq::text, subject, body FROM ${schema}.outbox`,
      );
      outboxes.push(...rows.map((r) => `${r.seq ?? 'unsent'} ${r.subject} ${r.body}`));
      const [dead] = await this.#rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM ${schema}.dead_letters WHERE state = 'dead'`,
      );
      deadLetters += dead?.n ?? 0;
    }
    const promised = await this.#rows<{ fact: string }>(`
      SELECT 'run.queued ' || run_id AS fact FROM agent_engine.runs
      UNION ALL SELECT 'run.completed ' || run_id FROM agent_engine.runs WHERE completed_at IS NOT NULL
      UNION ALL SELECT 'tool.started ' || call_id FROM agent_engine.executions
      UNION ALL SELECT 'tool.executed ' || call_id FROM agent_engine.executions WHERE state = 'closed'
      UNION ALL SELECT 'call.staged ' || call_id FROM staging.frozen_calls
      UNION ALL SELECT 'approval.decided ' || call_id FROM staging.frozen_calls WHERE status <> 'pending'
      UNION ALL SELECT 'task.created ' || task_id FROM taskboard.tasks
      UNION ALL SELECT 'task.completed ' || task_id FROM taskboard.tasks WHERE state = 'done'`);
    const audit = await this.#rows<{ seq: string; subject: string; body: Buffer }>(
      'SELECT stream_seq::text AS seq, subject, body FROM audit.event_log',
    );
    return {
      outboxes: outboxes.sort(),
      promised: promised.map((p) => p.fact),
      stream: (await this.#stream()).sort(),
      audit: audit.map((r) => `${r.seq} ${r.subject} ${r.body.toString('utf8')}`).sort(),
      deadLetters,
    };
  }

  async #rows<T>(query: string): Promise<T[]> {
    return (await sql.raw<T>(query).execute(this.superuser)).rows;
  }

  async #stream(): Promise<string[]> {
    const { url, user, pass } = this.stack.nats;
    const bus = await connectBus({ servers: url, user, pass, name: 'checker' });
    try {
      const { state } = await bus.jsm.streams.info(STREAM);
      const messages: string[] = [];
      for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
        const m = await bus.jsm.direct.getMessage(STREAM, { seq });
        if (m) messages.push(`${seq} ${m.subject} ${new TextDecoder().decode(m.data)}`);
      }
      return messages;
    } finally {
      await bus.close();
    }
  }

  async stop(): Promise<void> {
    await this.calm();
    await this.superuser.destroy();
    await this.stack.stop();
    await rm(this.home, { recursive: true, force: true });
  }
}

async function writeConfig(home: string): Promise<string> {
  const mail = JSON.stringify({ action: 'send', to: ['a@example.test'], subject: 'Mail', body: 'Body\n' });
  const script = join(home, 'script.yaml');
  await writeFile(
    script,
    JSON.stringify({
      scripts: [
        {
          when: '^send$',
          turns: [{ text: 'I send.', calls: [{ tool: 'Mail', arguments: mail }] }, { text: 'Proposed.' }],
        },
        { when: 'Your action', turns: [{ text: 'I heard.' }] },
      ],
    }),
  );
  const config = join(home, 'holdpoint.yaml');
  await writeFile(
    config,
    `agents:\n  mailer:\n    space: acme\n    model: scripted\n    script: ${script}\n    tools: [Mail]\n`,
  );
  return config;
}
