import { setImmediate as turn } from 'node:timers/promises';
import type { BacktestProgress, Identity, PolicyBacktestRequest } from '@holdpoint/contracts';
import { sha256Hex } from '@holdpoint/runtime';
import type { Kysely } from 'kysely';
import { Comparison, Rejudging } from './domain/backtest.js';
import { policyVersion } from './domain/policy-version.js';
import { drafted } from './drafts.js';
import type { Policy } from './policy.js';
import * as refusal from './refusals.js';
import { roleIn } from './role-in.js';
import { asUser } from './store/as-user.js';
import { judgedCalls, type PastCall } from './store/judged-calls.js';
import type { PolicyDatabase } from './store/schema.js';

const BATCH = 5_000;
/** Calls that are judged before others get a turn. */
const STRETCH = 250;
/** At once, in one instance: each takes a core. */
const AT_ONCE = 2;
/** No agent has this name: what holds for none but one of them does not count. */
const NOBODY = '';

/** A draft that was checked, and the calls that it is held against. */
export interface Backtest {
  who: Identity;
  asked: PolicyBacktestRequest;
  again: Rejudging;
}

/** Tries rules that are not in force on the calls of the past. Reads metadata and flags alone, batch by batch. */
export class Backtests {
  #running = 0;

  constructor(
    private readonly db: Kysely<PolicyDatabase>,
    private readonly policy: Policy,
  ) {}

  /** @throws Refusal for everybody but owners and admins, and for a draft that would not be taken */
  async prepare(who: Identity, asked: PolicyBacktestRequest): Promise<Backtest> {
    const { spaceId } = asked;
    const draft = await asUser(this.db, who.id, async (tx) => {
      await roleIn(tx, who, spaceId, 'owner', 'admin');
      return drafted(tx, spaceId, asked);
    });
    const rows = await this.policy.read(spaceId, NOBODY);
    return {
      who,
      asked,
      again: new Rejudging(draft.operator ?? this.policy.rules, {
        ...rows,
        halted: null,
        rules: draft.space ?? rows.rules,
      }),
    };
  }

  /**
   * The latest calls first. Ends early, without `done`, when `gone` says so; it has to be aborted in any case. Whether the
   * person may is asked for each batch.
   * @throws Refusal at once when too many are running
   */
  run(backtest: Backtest, gone: AbortSignal): AsyncGenerator<BacktestProgress> {
    if (this.#running >= AT_ONCE) throw refusal.tooManyBacktests();
    this.#running += 1;
    gone.addEventListener('abort', () => this.#running--, { once: true });
    return this.#compared(backtest, gone);
  }

  async *#compared({ who, asked, again }: Backtest, gone: AbortSignal): AsyncGenerator<BacktestProgress> {
    const found = new Comparison(asked.samples);
    const since = asked.since === undefined ? undefined : new Date(asked.since);
    let left = asked.limit ?? Number.POSITIVE_INFINITY;
    let before: PastCall | undefined;
    while (left > 0) {
      const limit = Math.min(BATCH, left);
      const calls = await asUser(this.db, who.id, async (tx) => {
        await roleIn(tx, who, asked.spaceId, 'owner', 'admin');
        return judgedCalls.page(tx, { spaceId: asked.spaceId, since, before, limit });
      });
      for (let at = 0; at < calls.length; at += STRETCH) {
        for (const call of calls.slice(at, at + STRETCH)) compare(call, again, found);
        await turn();
        if (gone.aborted) return;
      }
      left -= calls.length;
      before = calls.at(-1);
      yield { type: 'progress', ...found.counts };
      if (calls.length < limit) break;
    }
    const { counts, before: was, after, changes, unlisted } = found;
    const version = policyVersion(again.rules, again.space, sha256Hex);
    yield { type: 'done', ...counts, before: was, after, changes, unlisted, policyVersion: version };
  }
}

function compare({ callId, verdict, reason, facts }: PastCall, again: Rejudging, to: Comparison): void {
  if (facts === null) {
    to.withoutFacts += 1;
    return;
  }
  const call = { ...facts, reason };
  to.add(callId, call, verdict, again.verdictOn(call));
}
