import { sha256Hex } from '@holdpoint/runtime';
import type { Call } from './domain/call.js';
import { decide, type PolicyDecision } from './domain/decide.js';
import { policyVersion } from './domain/policy-version.js';
import { NO_SPACE_POLICY, type RuleSet } from './domain/rules.js';
import { factsOf, type StatedTool } from './domain/tool-facts.js';
import type { SpacePolicyReader, SpaceRows } from './store/space-policy-reader.js';

export type Judged = PolicyDecision & { policyVersion: string };

/** The rules in force, and the one way to ask them. */
export class Policy {
  /** Digest of what decisions are made from in a space that says nothing. */
  readonly version: string;

  constructor(
    readonly rules: RuleSet,
    private readonly reader: SpacePolicyReader,
  ) {
    this.version = policyVersion(rules, NO_SPACE_POLICY, sha256Hex);
  }

  /** The rows as they are at this moment. */
  read(spaceId: string, agent: string): Promise<SpaceRows> {
    return this.reader.read(spaceId, agent);
  }

  /** The verdict on a call under the rows that were just read. No I/O: whoever keeps rows decides on old ones. */
  judge(stated: StatedTool, content: Call['content'], rows: SpaceRows, exhausted = false): Judged {
    const { agent, server, tool, action } = stated;
    const facts = factsOf(stated, rows);
    const decision = decide({ agent, server, tool, action, content }, facts, this.rules, rows, exhausted);
    return { ...decision, policyVersion: policyVersion(this.rules, rows, sha256Hex) };
  }
}
