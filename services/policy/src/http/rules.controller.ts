import { approvalRequirement, type Identity, name, policyMode, verdict } from '@holdpoint/contracts';
import { Refusal, Who } from '@holdpoint/runtime';
import { Controller, Get } from '@nestjs/common';
import { z } from 'zod';
import type { Rule } from '../domain/rules.js';
import { Policy } from '../policy.js';

/** A field that is null stands for any value. */
export const ruleView = z.object({
  origin: z.enum(['operator', 'builtin']),
  server: name.nullable(),
  tool: name,
  action: name.nullable(),
  agent: name.nullable(),
  verdict,
  reason: z.string().nullable(),
  /** What a release of what the rule holds has to meet; null: the rule does not say. */
  requirement: approvalRequirement.nullable(),
  expiresAfterSeconds: z.int().nullable(),
  /** A space may overrule it by a milder rule. */
  loosenable: z.boolean(),
});
export type RuleView = z.infer<typeof ruleView>;

export const rulesView = z.object({
  policyVersion: z.string(),
  mode: policyMode,
  /** The operator's verdict on what no rule names; null: `auto` for built-in tools. Foreign tools are held at least. */
  default: verdict.nullable(),
  expiresAfterSeconds: z.int(),
  rateLimit: z.object({ calls: z.int(), seconds: z.int() }),
  rules: z.array(ruleView),
});
export type RulesView = z.infer<typeof rulesView>;

@Controller('v1/policy')
export class RulesController {
  constructor(private readonly policy: Policy) {}

  /** For every member of any space: the operator's rules first, as they come first. */
  @Get('rules')
  rules(@Who() who: Identity): RulesView {
    if (who.kind !== 'person' || Object.keys(who.spaces).length === 0)
      throw new Refusal(
        'forbidden',
        'policy.members-only',
        'The rules are for members of a space; ask an owner of one to take you in.',
      );
    const { operator, builtin, mode, fallback, expiresAfterSeconds, rateLimit } = this.policy.rules;
    return {
      policyVersion: this.policy.version,
      mode,
      default: fallback?.verdict ?? null,
      expiresAfterSeconds,
      rateLimit,
      rules: [...operator, ...builtin].map(view),
    };
  }
}

const view = (r: Rule): RuleView => ({
  origin: r.origin,
  server: r.server ?? null,
  tool: r.tool,
  action: r.action ?? null,
  agent: r.agent ?? null,
  verdict: r.verdict,
  reason: r.reason ?? null,
  requirement: r.requirement ?? null,
  expiresAfterSeconds: r.expiresAfterSeconds ?? null,
  loosenable: r.origin === 'builtin' || r.loosenable === true,
});
