import type { CallRef, EventData, HoldpointEvent, Sealed } from '@holdpoint/contracts';
import { newEvent, Outbox, OutboxRelay } from '@holdpoint/eventing';
import { passed } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import { Wording } from '../agents.js';
import type { Claim, Executions } from '../store/executions.js';
import type { Database } from '../store/schema.js';
import type { ToolAction, ToolContext, ToolOutcome } from '../tools/tool.js';
import type { CallContent, CallPlace } from './content.js';

type Executed = EventData<'tool.executed'>;

/** What came of a claimed call, and what the model is told about it. */
export interface Performed {
  status: Executed['status'] | 'in-doubt';
  told: string;
}

export const placeOf = (c: { spaceId: string; callId: string; call: CallRef }): CallPlace => ({
  spaceId: c.spaceId,
  callId: c.callId,
  conversationId: c.call.conversationId,
});

/**
 * Claim, effect, result. The claim is committed and its `tool.started` stored before the effect begins; the effect begins
 * only while the lease holds; the result is written only by the attempt that holds the fence. What is left `executing`
 * when lease and tool time-out have lapsed is in doubt, and only a person ends that (guarantee G4).
 */
export class Effects {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly executions: Executions,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    private readonly content: CallContent,
    private readonly leaseMs: number,
    private readonly wording: Wording,
  ) {}

  /**
   * Claims the call and carries it out, once. Never throws for what the tool did.
   * @returns undefined when the call was claimed or closed before; then nothing may be done with it here.
   */
  async execute(e: {
    claim: Claim;
    action: ToolAction;
    args: unknown;
    /** Salts the digest of a result that is too long to be kept whole. */
    salt: Uint8Array;
    cancelled: () => boolean;
    causationId?: string;
    /** Asked in the claim's own transaction. */
    mayClaim?: (tx: Transaction<Database>) => Promise<boolean>;
  }): Promise<Performed | undefined> {
    const { claim, action, salt } = e;
    const words = this.wording.of(claim.call.agent);
    const started = newEvent('tool.started', {
      ...address(claim),
      ...(e.causationId === undefined ? {} : { causationId: e.causationId }),
      data: { call: claim.call, attempt: claim.attempt, held: claim.held },
    });
    if (!(await this.#claim(claim, action.timeoutMs, started, e.mayClaim))) return undefined;

    passed('claim', claim.callId);

    const from = performance.now();
    const outcome: ToolOutcome = (await this.#mayBegin(claim, started.id))
      ? await attempt(action, e.args, { ...contextOf(claim), stillLeased: () => this.executions.leased(claim) })
      : { kind: 'did-not-happen', error: words.notStarted() };
    const durationMs = Math.round(performance.now() - from);
    passed('effect', claim.callId);

    if (outcome.kind === 'unknown') {
      await this.#doubt(claim, outcome.detail, salt);
      return { status: 'in-doubt', told: words.inDoubt(claim.call.tool, claim.call.action) };
    }
    const ok = outcome.kind === 'done';
    const text = ok ? outcome.result : outcome.error;
    const sealed = await this.content.seal(placeOf(claim), 'result', text, salt);
    const ended = await this.#close(claim, {
      call: claim.call,
      status: ok ? 'Ok' : 'Error',
      held: claim.held,
      ...(ok ? {} : { reason: 'tool.did-not-happen' }),
      result: sealed.box,
      ...(sealed.truncated ? { truncated: sealed.truncated } : {}),
      attempt: claim.attempt,
      cancelled: e.cancelled(),
      durationMs,
    });
    passed('result', claim.callId);
    if (!ended) return { status: 'in-doubt', told: words.inDoubt(claim.call.tool, claim.call.action) };
    return { status: ok ? 'Ok' : 'Error', told: ok ? text : words.failed(text) };
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
    const { box } = await this.content.seal(placeOf(claim), 'result', told, new Uint8Array());
    const executed = newEvent('tool.executed', {
      ...address(claim),
      data: { call: claim.call, status: 'Denied', held: claim.held, reason, result: box, cancelled, durationMs: 0 },
    });
    const won = await this.db.transaction().execute(async (tx) => {
      if (!(await this.executions.take(tx, claim, { state, leaseMs: 0, timeoutMs: 1 }))) return false;
      await this.outbox.add(tx, executed);
      return true;
    });
    this.relay.poke();
    return won;
  }

  /** Puts every claim whose time is up in doubt. Several engines may sweep at once. @returns how many. */
  async sweep(): Promise<number> {
    const swept = await this.db.transaction().execute(async (tx) => {
      const lapsed = await this.executions.lapsed(tx);
      for (const claim of lapsed) {
        await this.executions.end(tx, claim, { state: 'in-doubt', reason: 'lease-lapsed' });
        await this.outbox.add(tx, inDoubt(claim, 'lease-lapsed', null));
      }
      return lapsed.length;
    });
    if (swept > 0) this.relay.poke();
    return swept;
  }

  async #claim(
    claim: Claim,
    timeoutMs: number,
    started: HoldpointEvent<'tool.started'>,
    mayClaim: (tx: Transaction<Database>) => Promise<boolean> = async () => true,
  ): Promise<boolean> {
    const won = await this.db.transaction().execute(async (tx) => {
      if (!(await mayClaim(tx))) return false;
      if (!(await this.executions.take(tx, claim, { state: 'executing', leaseMs: this.leaseMs, timeoutMs })))
        return false;
      await this.outbox.add(tx, started);
      return true;
    });
    if (won) this.relay.poke();
    return won;
  }

  /** Proof that `tool.started` is stored first, then the lease: after it a sweeper may already call the claim in doubt. */
  async #mayBegin(claim: Claim, startedId: string): Promise<boolean> {
    const stored = await this.relay.whenSent(startedId, this.leaseMs).then(
      () => true,
      () => false,
    );
    return stored && (await this.executions.leased(claim));
  }

  async #close(claim: Claim, data: Executed): Promise<boolean> {
    const won = await this.db.transaction().execute(async (tx) => {
      if (!(await this.executions.end(tx, claim, { state: 'closed' }))) return false;
      await this.outbox.add(tx, newEvent('tool.executed', { ...address(claim), data }));
      return true;
    });
    this.relay.poke();
    return won;
  }

  async #doubt(claim: Claim, detail: string, salt: Uint8Array): Promise<void> {
    const { box } = await this.content.seal(placeOf(claim), 'note', detail, salt);
    await this.db.transaction().execute(async (tx) => {
      if (await this.executions.end(tx, claim, { state: 'in-doubt', reason: 'tool-answered-unknown' }))
        await this.outbox.add(tx, inDoubt(claim, 'tool-answered-unknown', box));
    });
    this.relay.poke();
  }
}

const contextOf = ({ callId, spaceId, attempt }: Claim) => ({ callId, spaceId, attempt });

const address = (c: Claim) => ({ spaceId: c.spaceId, entityId: c.callId, callId: c.callId, runId: c.runId });

const inDoubt = (claim: Claim, reason: EventData<'tool.in-doubt'>['reason'], note: Sealed | null) =>
  newEvent('tool.in-doubt', {
    ...address(claim),
    data: { call: claim.call, attempt: claim.attempt, held: claim.held, reason, note },
  });

/** A tool that throws after the point of no return has not said what happened; only a read may be called failed then. */
export async function attempt(
  action: ToolAction,
  args: unknown,
  context: Omit<ToolContext, 'signal'>,
): Promise<ToolOutcome> {
  const late = Symbol('late');
  const signal = AbortSignal.timeout(action.timeoutMs);
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<typeof late>((resolve) => {
    timer = setTimeout(resolve, action.timeoutMs + 1_000, late);
  });
  try {
    const ran = await Promise.race([action.run(args, { ...context, signal }), bound]);
    if (ran !== late) return ran;
    return unanswered(action, `No answer within ${action.timeoutMs} ms.`);
  } catch (error) {
    return unanswered(action, error instanceof Error ? error.message : 'The tool failed without a reason.');
  } finally {
    clearTimeout(timer);
  }
}

const unanswered = (action: ToolAction, text: string): ToolOutcome =>
  action.hint === 'read' ? { kind: 'did-not-happen', error: text } : { kind: 'unknown', detail: text };
