import {
  type ApprovalSummary,
  type ApprovalView,
  approvalStatus,
  type DecisionRequest,
  decisionRequest,
  type Identity,
  name,
  token,
  type WithdrawRequest,
  withdrawRequest,
} from '@holdpoint/contracts';
import { ContentDestroyed, ContentUnreadable, requireRole, Who } from '@holdpoint/runtime';
import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { z } from 'zod';
import { accessible } from '../access.js';
import { Decisions } from '../decisions.js';
import { boxOf, contextOf } from '../facts.js';
import { ContentDamaged, FrozenContent } from '../frozen-content.js';
import * as refusal from '../refusals.js';
import { type FrozenCall, FrozenCalls } from '../store/frozen-calls.js';
import { Votes } from '../store/votes.js';
import { cursor, cursorAfter } from './cursor.js';
import { Views } from './views.js';

/** Decimal digits alone: `Number` would take `0x1` and `1e0` as well. */
const whole = (max: number) =>
  z
    .string()
    .regex(/^[1-9][0-9]*$/, `expected a whole number from 1 to ${max}`)
    .transform(Number)
    .pipe(z.int().max(max));

const listQuery = z.strictObject({
  status: z.enum([...approvalStatus.options, 'all']).default('pending'),
  space: token.optional(),
  number: whole(2_147_483_647).optional(),
  tool: name.optional(),
  agent: name.optional(),
  cursor: cursor.optional(),
  limit: whole(200).default(50),
});
type ListQuery = z.infer<typeof listQuery>;

@Controller('v1/approvals')
export class ApprovalsController {
  constructor(
    private readonly calls: FrozenCalls,
    private readonly content: FrozenContent,
    private readonly decisions: Decisions,
    private readonly votes: Votes,
    private readonly views: Views,
  ) {}

  /** Held calls of the spaces that you are a member of: pending ones oldest first, any other selection newest first. */
  @Get()
  async list(
    @Who() who: Identity,
    @Query({ schema: listQuery }) query: ListQuery,
  ): Promise<{ items: ApprovalSummary[]; nextCursor?: string }> {
    const { space, cursor: after, limit, ...rest } = query;
    if (space !== undefined) requireRole(who, space);
    const spaces = space === undefined ? Object.keys(who.spaces) : [space];
    if (spaces.length === 0) return { items: [] };
    const found = await this.calls.list({ ...rest, spaces, after, limit: limit + 1 });
    const items = await this.views.summariesOf(found.slice(0, limit));
    const last = items.at(-1);
    return found.length > limit && last !== undefined ? { items, nextCursor: cursorAfter(last.id) } : { items };
  }

  /** With the exact arguments: what is shown here is what the digest was made over and what would run. */
  @Get(':id')
  async show(@Who() who: Identity, @Param('id', { schema: token }) id: string): Promise<ApprovalView> {
    const call = accessible(who, await this.calls.find(id));
    const [summary, opened] = await Promise.all([this.views.summaryOf(call), this.#open(call)]);
    const { reasons, ...content } = opened;
    return { ...summary, ...content, votes: summary.votes.map((v) => ({ ...v, reason: reasons.get(v.by) ?? null })) };
  }

  @Post(':id/decision')
  @HttpCode(200)
  async decide(
    @Who() who: Identity,
    @Param('id', { schema: token }) id: string,
    @Body({ schema: decisionRequest }) request: DecisionRequest,
  ): Promise<ApprovalSummary> {
    return this.views.summaryOf(await this.decisions.decide(who, id, request));
  }

  @Post(':id/withdraw')
  @HttpCode(200)
  async withdraw(
    @Who() who: Identity,
    @Param('id', { schema: token }) id: string,
    @Body({ schema: withdrawRequest }) request: WithdrawRequest,
  ): Promise<ApprovalSummary> {
    return this.views.summaryOf(await this.decisions.withdraw(who, id, request));
  }

  async #open(call: FrozenCall): Promise<{ arguments: string; reason: string | null; reasons: Map<string, string> }> {
    const at = contextOf(call);
    const votes = await this.votes.of(call.call_id);
    try {
      const reasons = new Map<string, string>();
      for (const { voter, reason } of votes)
        if (reason !== null) reasons.set(voter, await this.content.reasonOf(at, boxOf(reason)));
      return {
        arguments: await this.content.argumentsOf(at, boxOf(call.frozen)),
        reason: call.reason === null ? null : await this.content.reasonOf(at, boxOf(call.reason)),
        reasons,
      };
    } catch (err) {
      if (err instanceof ContentDestroyed) throw refusal.contentDestroyed(call, err);
      if (err instanceof ContentDamaged || err instanceof ContentUnreadable) throw refusal.contentDamaged(call, err);
      throw err;
    }
  }
}
