import type { HoldpointEvent } from '@holdpoint/contracts';
import { newId, RetryLater, StreamReader } from '@holdpoint/eventing';
import { ContentDestroyed, ContentUnreadable, frozenDigest } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import { parseArguments } from '../domain/arguments/parse.js';
import type { Claim } from '../store/executions.js';
import type { ToolRegistry } from '../tools/registry.js';
import type { ToolAction } from '../tools/tool.js';
import type { CallContent } from './content.js';
import type { Effects } from './effects.js';
import type { PolicyQuestion } from './policy-question.js';

const HALT_RETRY_MS = 5_000;

type Ready = { action: ToolAction; args: unknown; nonce: Uint8Array };

/**
 * Executes what a person released, and nothing else: the frozen bytes, without a model, once (seed 000, plan freeze).
 * Everything is held against what this service itself proposed, so that neither a changed event nor a changed box runs.
 */
export class FrozenCallExecutor {
  readonly #log = new Logger(FrozenCallExecutor.name);

  constructor(
    private readonly registry: ToolRegistry,
    private readonly content: CallContent,
    private readonly reader: StreamReader,
    private readonly effects: Effects,
    private readonly policy: PolicyQuestion,
    private readonly lapseMs: number,
  ) {}

  /**
   * Safe to call again for the same event: the claim decides. @throws an infrastructure fault when policy or a store
   * does not answer, RetryLater while a halt holds; nothing has been claimed then.
   */
  async execute(event: HoldpointEvent<'approval.decided'>): Promise<void> {
    const { data, spaceid: spaceId, subject: callId } = event;
    if (data.decision !== 'approved') return;
    const runId = event.runid ?? callId;
    const claim: Claim = { callId, spaceId, runId, call: data.call, held: true, attempt: 1, fence: newId() };
    const ready = await this.verify(event);
    if (typeof ready === 'string') return this.#refuse(claim, ready);

    const answer = await this.policy.ask(claim, claim.call, ready.action);
    if (answer.halted) throw new RetryLater(HALT_RETRY_MS);
    if (answer.verdict === 'deny') return this.#refuse(claim, 'policy.denied');

    await this.effects.execute({
      claim,
      action: ready.action,
      args: ready.args,
      salt: ready.nonce,
      cancelled: () => false,
      causationId: event.id,
    });
  }

  /** @returns the reason why the call must not run, or what is needed to run it. Changes nothing. */
  async verify(event: HoldpointEvent<'approval.decided'>): Promise<string | Ready> {
    const { data, spaceid: spaceId, subject: callId } = event;
    const { call } = data;
    if (!data.frozen) return 'frozen.missing';
    const proposed = await this.reader.last('tool.proposed', spaceId, callId);
    const verdict = await this.reader.last('policy.decided', spaceId, callId);
    // the broker keeps both longer than an approval may wait; without them nothing proves what was proposed
    if (!proposed || !verdict) return 'frozen.proposal-gone';
    if (verdict.event.data.verdict !== 'approve') return 'frozen.not-held';
    const own = proposed.event.data.call;
    const same = Object.keys({ ...own, ...call }).every(
      (k) => JSON.stringify(own[k as keyof typeof own]) === JSON.stringify(call[k as keyof typeof call]),
    );
    if (!same) return 'frozen.changed';

    const opened = await this.content
      .thaw({ spaceId, callId, conversationId: call.conversationId }, data.frozen)
      .catch((error: unknown) => {
        if (error instanceof ContentDestroyed || error instanceof ContentUnreadable) return null;
        throw error;
      });
    if (!opened) return 'frozen.unreadable';
    const { server, tool: name, action: actionName, agent, principal } = call;
    const schemaDigest = data.call.schemaDigest;
    const context = { callId, spaceId, principal, agent, server, tool: name, action: actionName, schemaDigest };
    if (frozenDigest(context, opened.nonce, opened.bytes) !== data.call.digest) return 'frozen.changed';

    const tool = this.registry.find(name);
    if (!tool || this.registry.schemaDigest(tool) !== schemaDigest) return 'tool.schema-changed';
    if (Date.now() - Date.parse(data.decidedAt) > this.lapseMs) return 'approval.lapsed';
    const args = parseArguments(opened.bytes.toString('utf8'));
    const resolved = this.registry.resolve(tool, args);
    if (!resolved.ok) return 'tool.schema-changed';
    return { action: resolved.action, args, nonce: opened.nonce };
  }

  async #refuse(claim: Claim, reason: string): Promise<void> {
    if (reason.startsWith('frozen.')) this.#log.error(`call ${claim.callId} was released but not executed: ${reason}`);
    await this.effects.forgo(claim, 'refused', reason, `The released call was not executed: ${reason}.`, false);
  }
}
