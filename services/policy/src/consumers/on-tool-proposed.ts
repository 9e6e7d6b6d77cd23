import type { HoldpointEvent } from '@holdpoint/contracts';
import {
  AlreadyDecided,
  Discard,
  type EventContext,
  EventPublisher,
  newEvent,
  OnEvent,
  RetryLater,
} from '@holdpoint/eventing';
import { counter, histogram } from '@holdpoint/runtime';
import { Controller } from '@nestjs/common';
import { ContentInspector } from '../content-inspector.js';
import { believed, type StatedTool } from '../domain/tool-facts.js';
import { type Judged, Policy } from '../policy.js';
import { Decisions } from '../store/decisions.js';
import { RateCalls } from '../store/rate-calls.js';

type Verdict = HoldpointEvent<'policy.decided'>;

/** An engine announces its tools and proposes at once: the announcement may come a moment after the proposal. */
const ANNOUNCEMENT = { waitMs: 300, times: 10 } as const;

const decided = counter('holdpoint_policy_decisions_total', 'Verdicts since the start of the process', [
  'decision',
  'reason',
  'mode',
]);

const took = histogram(
  'holdpoint_policy_decision_seconds',
  'From when a proposal was stored, by the clock of the bus, until its verdict was',
  ['decision'],
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
);

/**
 * Gives each proposal its one verdict. The stream decides which one that is: the verdict is published first and the row
 * follows, so after a crash, or with several instances at once, every one of them takes over what is stored.
 *
 * A verdict is published even when the engine may have given the proposal up: of `policy.decided` and `tool.abandoned`
 * the one at the lower sequence counts, and whoever acts upon one of them reads the other (charter, section 6).
 */
@Controller()
export class OnToolProposed {
  constructor(
    private readonly policy: Policy,
    private readonly inspector: ContentInspector,
    private readonly publisher: EventPublisher,
    private readonly decisions: Decisions,
    private readonly rateCalls: RateCalls,
  ) {}

  /** @throws RetryLater while a tool that is not known may still be announced */
  @OnEvent('tool.proposed.>')
  async handle(proposal: HoldpointEvent<'tool.proposed'>, ctx: EventContext): Promise<void> {
    const decidedIn = await this.decisions.spaceOf(proposal.subject);
    if (decidedIn === proposal.spaceid) return;
    if (decidedIn !== null) throw new Discard(`the call was decided in another space, ${decidedIn}`);
    const { decided: own, judgedAs } = await this.#decide(proposal, ctx);
    const verdict = await this.#publish(own);
    const ms = Date.now() - ctx.streamTime.getTime();
    if (!(await ctx.once((tx) => this.decisions.add(tx, verdict, judgedAs)))) return;
    const { verdict: decision, reason, mode } = verdict.event.data;
    decided.inc({ decision, reason, mode });
    took.observe({ decision }, Math.max(0, ms) / 1000);
  }

  async #decide(
    proposal: HoldpointEvent<'tool.proposed'>,
    ctx: EventContext,
  ): Promise<{ decided: Verdict; judgedAs: StatedTool }> {
    const { call } = proposal.data;
    const { judged, judgedAs } = await this.#judge(proposal, ctx);
    const { hint, scope, origin } = judgedAs;
    if (judged.reason === 'not-found' && ctx.deliveries <= ANNOUNCEMENT.times)
      throw new RetryLater(ANNOUNCEMENT.waitMs);
    const decided = newEvent('policy.decided', {
      spaceId: proposal.spaceid,
      entityId: proposal.subject,
      runId: proposal.runid,
      causationId: proposal.id,
      traceparent: proposal.traceparent,
      data: { ...judged, call, believed: { hint, scope, origin }, proposalSeq: ctx.seq },
    });
    return { decided, judgedAs };
  }

  /** Only a call that nothing else refuses is counted, and its verdict is given under rows read after it was counted. */
  async #judge(
    proposal: HoldpointEvent<'tool.proposed'>,
    ctx: EventContext,
  ): Promise<{ judged: Judged; judgedAs: StatedTool }> {
    const { spaceid: spaceId, subject: callId } = proposal;
    const { call, frozen, hint, scope, origin } = proposal.data;
    const { agent, principal, server, tool, action } = call;
    const stated = { agent, server, tool, action, hint, scope, origin };
    const content = await this.inspector.inspect(frozen, spaceId, callId);
    const rows = await this.policy.read(spaceId, agent);
    const judgedAs = { ...stated, ...believed(stated, rows) };
    const first = this.policy.judge(stated, content, rows);
    if ((first.wouldBe ?? first.verdict) === 'deny') return { judged: first, judgedAs };
    const counted = { callId, spaceId, principal, server, tool, at: ctx.streamTime };
    const passed = await this.rateCalls.passes(counted, this.policy.rules.rateLimit);
    return { judged: this.policy.judge(stated, content, await this.policy.read(spaceId, agent), !passed), judgedAs };
  }

  /** @returns what stands in the stream: this verdict, or the one that was there before. */
  async #publish(event: Verdict): Promise<{ seq: number; event: Verdict }> {
    try {
      return { seq: (await this.publisher.publish(event)).seq, event };
    } catch (err) {
      if (!(err instanceof AlreadyDecided)) throw err;
      return { seq: err.stored.seq, event: err.stored.event as Verdict };
    }
  }
}
