import { type PolicyCheckReply, type PolicyCheckRequest, policyCheckRequest } from '@holdpoint/contracts';
import { ServicesOnly } from '@holdpoint/runtime';
import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { Policy } from '../policy.js';

/** The second question: what the rules say now, asked when a person decides and when the executor claims. */
@Controller('internal/policy')
export class CheckController {
  constructor(private readonly policy: Policy) {}

  /** Counts towards no rate limit and looks into no content: both were judged with the proposal. */
  @Post('check')
  @HttpCode(200)
  @ServicesOnly('staging', 'agent-engine')
  check(@Body({ schema: policyCheckRequest }) asked: PolicyCheckRequest): PolicyCheckReply {
    const { agent, server, tool, action, hint, scope, origin } = asked;
    const { verdict, reason, rule, policyVersion } = this.policy.decide(
      { agent, server, tool, action, content: { readable: true, flags: [] } },
      { origin, scope, hint, actions: null },
      new Date(),
    );
    return { verdict, halted: reason === 'halted', reason, rule, policyVersion };
  }
}
