import { continuing, isInfrastructureFault } from '@holdpoint/runtime';
import { Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { mayTryAgain } from '../domain/conclude.js';
import { attemptSpan } from '../spans.js';
import { claimOf, type ExecutionRow, type Executions } from '../store/executions.js';
import type { Database } from '../store/schema.js';
import type { Effects } from './effects.js';
import type { FrozenArguments } from './frozen-arguments.js';

const DRAIN_MS = 5_000;
const AT_ONCE = 16;

/**
 * Takes up the claims whose attempt is over without an end. Where the class allows it they are tried again, from what the
 * stream holds, so by any engine; all others are in doubt. Policy is not asked again: a further attempt goes on with a
 * claim that was allowed, and a halt undoes nothing. Any number of engines may sweep at once.
 */
export class LaterAttempts implements OnModuleDestroy {
  readonly what = 'looking for attempts that are over';
  readonly #log = new Logger(LaterAttempts.name);
  readonly #active = new Map<string, Promise<void>>();

  constructor(
    private readonly db: Kysely<Database>,
    private readonly executions: Executions,
    private readonly frozen: FrozenArguments,
    private readonly effects: Effects,
  ) {}

  /** Returns once every claim that is due is in doubt or has its attempt under way. */
  async sweep(): Promise<void> {
    for (const row of await this.executions.due()) await continuing(row.traceparent, () => this.#takeUp(row));
  }

  async #takeUp(row: ExecutionRow): Promise<void> {
    const { attempts } = this.effects.settings;
    if (mayTryAgain({ executionClass: row.execution_class, attempt: row.attempt, attempts })) this.#start(row);
    else if (row.execution_class === 'at-most-once') await this.effects.doubt(claimOf(row), 'lease-lapsed', null);
    else await this.effects.doubt(claimOf(row), 'lease-lapsed', `Tried ${row.attempt} times without an answer.`);
  }

  /** Attempts that do not end in time are left to their leases. */
  async onModuleDestroy(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, DRAIN_MS);
    });
    await Promise.race([Promise.allSettled(this.#active.values()), late]);
    clearTimeout(timer);
  }

  #start(row: ExecutionRow): void {
    if (this.#active.has(row.call_id) || this.#active.size >= AT_ONCE) return;
    const tried = this.#again(row)
      .catch((error: unknown) => {
        // nothing is lost: the claim is still due, or its new lease will lapse
        const text = error instanceof Error ? error.message : String(error);
        this.#log.warn(`a further attempt of call ${row.call_id} stands still: ${text}`);
      })
      .finally(() => this.#active.delete(row.call_id));
    this.#active.set(row.call_id, tried);
  }

  async #again(row: ExecutionRow): Promise<void> {
    const claim = claimOf(row);
    const ready = await this.frozen.ofClaim(claim).catch((error: unknown) => {
      if (isInfrastructureFault(error)) throw error;
      return 'frozen.unverifiable';
    });
    if (ready === null) return;
    if (typeof ready === 'string') {
      const why = `It may have taken effect and cannot be tried again: ${ready}.`;
      await this.effects.doubt(claim, 'lease-lapsed', why);
      return;
    }
    const cancelled = claim.held ? false : await this.#cancelled(claim.runId);
    await attemptSpan({ ...claim, attempt: claim.attempt + 1 }, () =>
      this.effects.executeAgain(claim, {
        action: ready.action,
        args: ready.args,
        salt: ready.nonce,
        cancelled: () => cancelled,
      }),
    );
  }

  async #cancelled(runId: string): Promise<boolean> {
    const run = await this.db
      .selectFrom('runs')
      .select('cancel_requested')
      .where('run_id', '=', runId)
      .executeTakeFirst();
    return run?.cancel_requested === true;
  }
}
