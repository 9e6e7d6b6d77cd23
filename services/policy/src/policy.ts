import { sha256Hex } from '@holdpoint/runtime';
import type { Call, ToolFacts } from './domain/call.js';
import { decide, type PolicyDecision } from './domain/decide.js';
import { policyVersion } from './domain/policy-version.js';
import { NO_SPACE_POLICY, type RuleSet } from './domain/rules.js';

/** The rules in force, and the one way to ask them. */
export class Policy {
  /** Digest of all that decisions are made from. */
  readonly version: string;

  constructor(readonly rules: RuleSet) {
    this.version = policyVersion(rules, NO_SPACE_POLICY, sha256Hex);
  }

  decide(call: Call, tool: ToolFacts, now: Date): PolicyDecision & { policyVersion: string } {
    return { ...decide(call, tool, this.rules, NO_SPACE_POLICY, [], now), policyVersion: this.version };
  }
}
