import {
  type PolicyCheckReply,
  type PolicyCheckRequest,
  policyCheckRequest,
  USUAL_REQUIREMENT,
} from '@holdpoint/contracts';
import { ServicesOnly } from '@holdpoint/runtime';
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { Policy } from '../policy.js';

export const CHECK_VALID_MS = Symbol('how long an answer may be acted upon');

/** The second question: what the rules and rows say now, asked when a person decides and when the executor claims. */
@Controller('internal/policy')
export class CheckController {
  constructor(
    private readonly policy: Policy,
    @Inject(CHECK_VALID_MS) private readonly validMs: number,
  ) {}

  /**
   * Counts towards no rate limit and looks into no content: both were judged with the proposal. Whoever asked acts only
   * before `validUntil`, by the database's clock: a halt or a revoke waits for that before it is answered. A quarter of the
   * time is kept back for the commit of whoever acts at the last moment.
   */
  @Post('check')
  @HttpCode(200)
  @ServicesOnly('staging', 'agent-engine')
  async check(@Body({ schema: policyCheckRequest }) asked: PolicyCheckRequest): Promise<PolicyCheckReply> {
    const fresh = await this.policy.read(asked.spaceId, asked.agent);
    const judged = this.policy.judge(asked, { readable: true, flags: [] }, fresh);
    const { verdict, reason, rule, requirements, policyVersion } = judged;
    return {
      verdict,
      halted: reason === 'halted',
      reason,
      rule,
      policyVersion,
      ...(verdict === 'approve' ? { requirements: requirements ?? [USUAL_REQUIREMENT] } : {}),
      validUntil: new Date(fresh.now.getTime() + this.validMs * 0.75).toISOString(),
    };
  }
}
