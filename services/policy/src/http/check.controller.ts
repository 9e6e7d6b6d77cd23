import {
  type PolicyCheckReply,
  type PolicyCheckRequest,
  policyCheckRequest,
  USUAL_REQUIREMENT,
} from '@holdpoint/contracts';
import { histogram, ServicesOnly } from '@holdpoint/runtime';
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { Policy } from '../policy.js';

export const CHECK_VALID_MS = Symbol('how long an answer may be acted upon');

const took = histogram(
  'holdpoint_policy_check_seconds',
  'How long the second question took to be answered',
  ['decision'],
  [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
);

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
    const began = performance.now();
    const fresh = await this.policy.read(asked.spaceId, asked.agent);
    const judged = this.policy.judge(asked, { readable: true, flags: [] }, fresh);
    const { verdict, reason, rule, requirements, policyVersion } = judged;
    took.observe({ decision: verdict }, (performance.now() - began) / 1000);
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
