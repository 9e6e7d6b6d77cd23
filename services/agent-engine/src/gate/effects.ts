import { setTimeout as pause } from 'node:timers/promises';
import type { CallRef, EventData, HoldpointEvent, Sealed } from '@holdpoint/contracts';
import { newEvent, newId, Outbox, OutboxRelay, StreamReader } from '@holdpoint/eventing';
import { ContentDestroyed, isInfrastructureFault, passed } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import { Wording } from '../agents.js';
import { backoffMs, conclude, type Earlier } from '../domain/conclude.js';
import { type Claim, type Executions, isAnswerRunOut } from '../store/executions.js';
import type { Database } from '../store/schema.js';
import type { ToolAction } from '../tools/tool.js';
import { type AttemptOutcome, attempt, attemptAgain, notBegun, overtaken } from './attempt.js';
import type { CallContent, CallPlace } from './content.js';

type Executed = EventData<'tool.executed'>;
type DoubtReason = EventData<'tool.in-doubt'>['reason'];

const FOLLOW_MS = 200;

/** What came of a claimed call, and what the model is told about it. */
export interface Performed {
  status: Executed['status'] | 'in-doubt';
  told: string;
}

/** What one attempt needs beside its claim. */
export interface Work {
  action: ToolAction;
  args: unknown;
  /** Salts the digest of a result that is too long to be kept whole. */
  salt: Uint8Array;
  cancelled: () => boolean;
}

export interface AttemptSettings {
  leaseMs: number;
  /** How often a call is tried at most, where its class allows a second attempt at all. */
  attempts: number;
  backoffMs: number;
  /** Name of this engine, for the record. */
  engine: string;
}

/** What lets a call be claimed. */
export interface PolicyAnswer {
  /** Until when, by the database's clock, it may be acted upon. */
  validUntil?: string | undefined;
  /** Asks once more. What it throws is a no. */
  stillAllows: () => Promise<boolean>;
}

/** Policy's answer had run out when the claim was committed. Nothing was claimed: ask again. */
export class AnswerRunOut extends Error {
  override readonly name = 'AnswerRunOut';
}

export const placeOf = (c: { spaceId: string; callId: string; call: CallRef }): CallPlace => ({
  spaceId: c.spaceId,
  callId: c.callId,
  conversationId: c.call.conversationId,
});

/**
 * Claim, effect, result. The claim is committed and its `tool.started` stored before the effect begins; an effect begins
 * only while the lease of its attempt holds; a result is written only by the attempt that holds the fence. What may not be
 * tried again and has not ended when lease and tool time-out have lapsed is in doubt, and only a person ends that
 * (guarantee G4).
 */
export class Effects {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly executions: Executions,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly content: CallContent,
    private readonly reader: StreamReader,
    private readonly wording: Wording,
    readonly settings: AttemptSettings,
  ) {}

  /**
   * Claims the call and makes its first attempt; further ones are left to whichever engine comes first. An unheld call is
   * waited for until it has ended, for its run needs the answer. Never throws for what the tool did.
   * @returns undefined when the call was claimed or closed before; then nothing may be done with it here.
   * @throws AnswerRunOut
   */
  async execute(
    e: Work & {
      claim: Claim;
      causationId?: string;
      answer: PolicyAnswer;
      /** Asked in the claim's own transaction. */
      mayClaim?: (tx: Transaction<Database>) => Promise<boolean>;
    },
  ): Promise<Performed | undefined> {
    const { claim, action } = e;
    const started = newEvent('tool.started', {
      ...address(claim),
      ...(e.causationId === undefined ? {} : { causationId: e.causationId }),
      data: {
        call: claim.call,
        attempt: claim.attempt,
        held: claim.held,
        executionClass: action.executionClass,
      },
    });
    if (!(await this.#claim(claim, action, started, e))) return undefined;
    passed('claim', claim.callId);

    const from = performance.now();
    const outcome =
      (await this.#prevented(claim, started.id, e.answer)) ?? (await attempt(action, e.args, this.#context(claim)));
    const performed = await this.#conclude(claim, e, outcome, 'ruled-out', performance.now() - from);
    if (performed) return performed;
    return claim.held ? this.#inDoubt(claim) : this.#follow(claim, e.cancelled);
  }

  /** A further attempt of a claim that is due. Does nothing when another engine was first. */
  async executeAgain(due: Claim, work: Work): Promise<void> {
    const { leaseMs, engine } = this.settings;
    const how = { fence: newId(), leaseMs, timeoutMs: work.action.timeoutMs, engine };
    const taken = await this.db.transaction().execute((tx) => this.executions.retake(tx, due, how));
    if (!taken) return;
    const { claim, earlier: before } = taken;
    passed('claim', claim.callId);
    const from = performance.now();
    const { outcome, earlier } = await attemptAgain(work.action, work.args, this.#context(claim), before);
    await this.#conclude(claim, work, outcome, earlier, performance.now() - from);
  }

  /**
   * Closes a call that was never begun: `refused` when it may not run, `abandoned` when its run was given up.
   * @returns false when somebody claimed it first.
   */
  async forgo(
    claim: Claim,
    state: 'refused' | 'abandoned',
    reason: string,
    told: string,
    cancelled: boolean,
  ): Promise<boolean> {
    const { box } = await this.#seal(claim, 'result', told, new Uint8Array());
    const executed = newEvent('tool.executed', {
      ...address(claim),
      data: {
        call: claim.call,
        status: 'Denied',
        held: claim.held,
        reason,
        result: box,
        forgone: state,
        cancelled,
        durationMs: 0,
      },
    });
    const won = await this.db.transaction().execute(async (tx) => {
      if (!(await this.executions.take(tx, claim, { state }))) return false;
      await this.outbox.add(tx, executed);
      return true;
    });
    this.relay.poke();
    return won;
  }

  /** @param why what a person has to know beside the reason; a call that might be tried again is told why it is not. */
  async doubt(claim: Claim, reason: DoubtReason, why: string | null): Promise<boolean> {
    const note = why === null ? null : (await this.#seal(claim, 'note', why, new Uint8Array())).box;
    const outcome = reason === 'lease-lapsed' ? 'lapsed' : 'unknown';
    const won = await this.db.transaction().execute(async (tx) => {
      if (!(await this.executions.end(tx, claim, { state: 'in-doubt', reason, outcome }))) return false;
      await this.outbox.add(tx, inDoubt(claim, reason, note));
      return true;
    });
    this.relay.poke();
    return won;
  }

  async #claim(
    claim: Claim,
    { timeoutMs, executionClass }: ToolAction,
    started: HoldpointEvent<'tool.started'>,
    { mayClaim, answer }: Pick<Parameters<Effects['execute']>[0], 'mayClaim' | 'answer'>,
  ): Promise<boolean> {
    const { leaseMs, engine } = this.settings;
    const answerUntil = answer.validUntil === undefined ? null : new Date(answer.validUntil);
    const work = async (tx: Transaction<Database>) => {
      if (mayClaim && !(await mayClaim(tx))) return false;
      const how = { state: 'executing' as const, leaseMs, timeoutMs, executionClass, engine, answerUntil };
      if (!(await this.executions.take(tx, claim, how))) return false;
      await this.outbox.add(tx, started);
      return true;
    };
    const won = await this.db
      .transaction()
      .execute(work)
      .catch((error: unknown) => {
        throw isAnswerRunOut(error) ? new AnswerRunOut() : error;
      });
    if (won) this.relay.poke();
    return won;
  }

  /**
   * Proof that `tool.started` is stored first. Then policy: its answer still holds, so the claim was visible to everybody
   * before any halt could be answered; or it is asked once more, since a commit may take its time on the way to the disk.
   * The lease last: after it a further attempt may already have begun.
   * @returns undefined when the effect may begin
   */
  async #prevented(claim: Claim, startedId: string, answer: PolicyAnswer): Promise<AttemptOutcome | undefined> {
    const stored = await this.relay.whenSent(startedId, this.settings.leaseMs).then(
      () => true,
      () => false,
    );
    if (!stored) return notBegun;
    const { validUntil, stillAllows } = answer;
    const holds = validUntil === undefined || (await this.executions.isBefore(validUntil));
    if (!holds && !(await stillAllows().catch(() => false))) return overtaken;
    return (await this.executions.leased(claim)) ? undefined : notBegun;
  }

  /** @returns undefined when the call goes on without this attempt: it is to be tried again, or was taken over. */
  async #conclude(
    claim: Claim,
    { action, salt, cancelled }: Work,
    outcome: AttemptOutcome,
    earlier: Earlier,
    ms: number,
  ): Promise<Performed | undefined> {
    passed('effect', claim.callId);
    const { executionClass } = action;
    const { attempts } = this.settings;
    return this.#insist(action.timeoutMs, async () => {
      const then = conclude(outcome.kind, { executionClass, attempt: claim.attempt, attempts, earlier });
      const said = outcome.kind === 'not-begun' ? 'did-not-happen' : outcome.kind;
      const text = this.#textOf(claim, outcome);
      if (then === 'doubt') {
        const reason = outcome.kind === 'not-begun' ? 'lease-lapsed' : 'tool-answered-unknown';
        const won = await this.doubt(claim, reason, text);
        return won ? this.#inDoubt(claim) : undefined;
      }
      if (then === 'again') {
        const wait = backoffMs(this.settings.backoffMs, claim.attempt);
        await this.db.transaction().execute((tx) => this.executions.again(tx, claim, said, wait));
        return undefined;
      }
      const ok = outcome.kind === 'done';
      const sealed = await this.#seal(claim, 'result', text, salt);
      const executed = newEvent('tool.executed', {
        ...address(claim),
        data: {
          call: claim.call,
          status: ok ? 'Ok' : 'Error',
          held: claim.held,
          ...(ok ? {} : { reason: 'tool.did-not-happen' }),
          result: sealed.box,
          ...(sealed.truncated ? { truncated: sealed.truncated } : {}),
          attempt: claim.attempt,
          cancelled: cancelled(),
          durationMs: Math.round(ms),
        },
      });
      const ended = await this.db.transaction().execute(async (tx) => {
        if (!(await this.executions.end(tx, claim, { state: 'closed', outcome: said }))) return false;
        await this.outbox.add(tx, executed);
        return true;
      });
      this.relay.poke();
      passed('result', claim.callId);
      if (!ended) return undefined;
      return { status: ok ? 'Ok' : 'Error', told: ok ? text : this.wording.of(claim.call.agent).failed(text) };
    });
  }

  /**
   * Writes what this attempt alone knows, through an outage of the database, until its time is up: after that it is a
   * person's to find out. The fence makes a second writing harmless.
   */
  async #insist<T>(timeoutMs: number, write: () => Promise<T>): Promise<T> {
    const end = performance.now() + this.settings.leaseMs + timeoutMs;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (!isInfrastructureFault(error) || performance.now() > end) throw error;
        await pause(FOLLOW_MS);
      }
    }
  }

  /** The end of a call that goes on elsewhere. Ends with it or with the run: attempts are bounded, in number and in time. */
  async #follow(claim: Claim, cancelled: () => boolean): Promise<Performed> {
    while (!cancelled()) {
      const row = await this.executions.find(claim.callId);
      if (row?.state === 'in-doubt') break;
      if (row?.state === 'closed') {
        const stored = await this.reader.last('tool.executed', claim.spaceId, claim.callId);
        if (stored) {
          const { status, result } = stored.event.data;
          const text = (await this.content.open(placeOf(claim), 'result', result)) ?? '';
          return { status, told: status === 'Ok' ? text : this.wording.of(claim.call.agent).failed(text) };
        }
      }
      await pause(FOLLOW_MS);
    }
    return this.#inDoubt(claim);
  }

  /** Content that was erased meanwhile leaves no box; what became of the call must be told all the same. */
  async #seal(claim: Claim, field: 'result' | 'note', text: string, salt: Uint8Array) {
    return this.content.seal(placeOf(claim), field, text, salt).catch((error: unknown) => {
      if (error instanceof ContentDestroyed) return { box: null, truncated: undefined };
      throw error;
    });
  }

  #textOf({ call }: Claim, outcome: AttemptOutcome): string {
    switch (outcome.kind) {
      case 'done':
        return outcome.result;
      case 'unknown':
        return outcome.detail;
      case 'did-not-happen':
        return outcome.error;
      case 'not-begun':
        return this.wording.of(call.agent).notStarted();
    }
  }

  #inDoubt({ call }: Claim): Performed {
    return { status: 'in-doubt', told: this.wording.of(call.agent).inDoubt(call.tool, call.action) };
  }

  #context(claim: Claim) {
    const { callId, spaceId, attempt: nth } = claim;
    return { callId, spaceId, attempt: nth, stillLeased: () => this.executions.leased(claim) };
  }
}

const address = (c: Claim) => ({ spaceId: c.spaceId, entityId: c.callId, callId: c.callId, runId: c.runId });

const inDoubt = (claim: Claim, reason: DoubtReason, note: Sealed | null) =>
  newEvent('tool.in-doubt', {
    ...address(claim),
    data: { call: claim.call, attempt: claim.attempt, held: claim.held, reason, note },
  });
