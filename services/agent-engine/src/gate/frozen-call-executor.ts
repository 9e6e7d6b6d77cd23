import {
  type CastVote,
  type EventData,
  type HoldpointEvent,
  type PolicyCheckReply,
  released,
  USUAL_REQUIREMENT,
} from '@holdpoint/contracts';
import { newId, RetryLater } from '@holdpoint/eventing';
import { isInfrastructureFault } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import type { AgentDeclaration } from '../config.js';
import { attemptSpan } from '../spans.js';
import type { Claim, Executions } from '../store/executions.js';
import { AnswerRunOut, type Effects } from './effects.js';
import type { FrozenArguments, Ready } from './frozen-arguments.js';
import type { PolicyQuestion } from './policy-question.js';

type Approval = EventData<'approval.decided'>;

const HALT_RETRY_MS = 5_000;
const RUN_OUT_RETRY_MS = 200;

/**
 * Executes what a person released, and nothing else: the frozen bytes, without a model, once (seed 000, plan freeze).
 * Everything is held against what this service itself proposed, so that neither a changed event nor a changed box runs.
 */
export class FrozenCallExecutor {
  readonly #log = new Logger(FrozenCallExecutor.name);

  constructor(
    private readonly agents: ReadonlyMap<string, Pick<AgentDeclaration, 'space' | 'tools'>>,
    private readonly frozen: FrozenArguments,
    private readonly executions: Executions,
    private readonly effects: Effects,
    private readonly policy: PolicyQuestion,
    private readonly lapseMs: number,
  ) {}

  /**
   * Safe to call again for the same event: the claim decides. A release that can never run is closed as Denied, so that
   * its agent hears of it. @throws an infrastructure fault when policy or a store does not answer, RetryLater while a halt
   * holds, policy cannot be asked or its answer ran out before the claim; nothing has been claimed then, and the approval lapses in the end.
   */
  async execute(event: HoldpointEvent<'approval.decided'>): Promise<void> {
    const { data, spaceid: spaceId, subject: callId } = event;
    if (data.decision !== 'approved') return;
    const runId = event.runid ?? callId;
    const claim: Claim = { callId, spaceId, runId, call: data.call, held: true, attempt: 1, fence: newId() };
    const ready = await this.verify(event).catch((error: unknown) => {
      if (isInfrastructureFault(error)) throw error;
      this.#log.error(`call ${callId} cannot be verified: ${error instanceof Error ? error.message : error}`);
      return 'frozen.unverifiable';
    });
    if (typeof ready === 'string') return this.#refuse(claim, ready);

    const answer = await this.policy.ask(claim, claim.call, ready.action).catch((error: unknown) => {
      if (isInfrastructureFault(error)) throw error;
      this.#log.error(
        `policy refuses to be asked of call ${callId}: ${error instanceof Error ? error.message : error}`,
      );
      throw new RetryLater(HALT_RETRY_MS);
    });
    if (answer.halted) throw new RetryLater(HALT_RETRY_MS);
    if (answer.verdict === 'deny') return this.#refuse(claim, 'policy.denied');
    if (!suffices(data, answer)) return this.#refuse(claim, 'approval.insufficient');

    const stillAllows = async () => {
      const now = await this.policy.ask(claim, claim.call, ready.action);
      return !now.halted && now.verdict !== 'deny' && suffices(data, now);
    };
    const work = { claim, action: ready.action, args: ready.args, salt: ready.nonce, cancelled: () => false };
    await attemptSpan(claim, () =>
      this.effects.execute({
        ...work,
        causationId: event.id,
        answer: { validUntil: answer.validUntil, stillAllows },
      }),
    ).catch((error: unknown) => {
      if (error instanceof AnswerRunOut) throw new RetryLater(RUN_OUT_RETRY_MS);
      throw error;
    });
  }

  /** @returns the reason why the call must not run, or what is needed to run it. Changes nothing. */
  async verify(event: HoldpointEvent<'approval.decided'>): Promise<string | Ready> {
    const { data, spaceid: spaceId, subject: callId } = event;
    const at = { spaceId, callId };
    if (!data.frozen) return 'frozen.missing';
    const proposed = await this.frozen.proposed(at, data.call, 'approve');
    if (typeof proposed === 'string') return proposed;
    const opened = await this.frozen.open(at, data.call, data.frozen);
    if (typeof opened === 'string') return opened;
    const ready = this.frozen.ready(data.call, opened);
    if (typeof ready === 'string') return ready;
    const agent = this.agents.get(data.call.agent);
    if (agent?.space !== spaceId || !agent.tools.includes(data.call.tool)) return 'tool.not-assigned';
    return (await this.executions.msSince(data.decidedAt)) > this.lapseMs ? 'approval.lapsed' : ready;
  }

  async #refuse(claim: Claim, reason: string): Promise<void> {
    if (reason.startsWith('frozen.')) this.#log.error(`call ${claim.callId} was released but not executed: ${reason}`);
    const told = `The released call was not executed: ${reason}.${FURTHER[reason] ?? ''}`;
    await this.effects.forgo(claim, 'refused', reason, told, false);
  }
}

const FURTHER: Partial<Record<string, string>> = {
  'approval.insufficient':
    ' The rules ask for more votes, or other ones, than it was released by. Propose it again if it is still wanted.',
};

/** Whether the votes that released the call meet what policy asks for by now. */
function suffices(data: Approval, { verdict, requirements }: PolicyCheckReply): boolean {
  const needed = verdict === 'approve' ? (requirements ?? [USUAL_REQUIREMENT]) : [];
  return needed.length === 0 || released(needed, votesOf(data), data.call.principal);
}

/**
 * The votes that released the call, as they were cast. One person's word was enough where the event names no votes: then it
 * was an owner's or an admin's, and counts as the lesser of the two.
 */
function votesOf({ votes, by }: Approval): CastVote[] {
  if (votes !== undefined) return votes;
  return by?.kind === 'person' ? [{ by: by.id, role: 'admin', groups: [] }] : [];
}
