import { sha256Hex } from '@holdpoint/runtime';
import type { Call } from './domain/call.js';
import { decide, type PolicyDecision } from './domain/decide.js';
import { policyVersion } from './domain/policy-version.js';
import { NO_SPACE_POLICY, type RuleSet, type SpacePolicy } from './domain/rules.js';
import { factsOf, type RegisteredTool, type StatedTool } from './domain/tool-facts.js';

/** What the rows said of a space at one moment. */
export interface FreshRows {
  /** By the database's clock, and not after the rows were read. */
  now: Date;
  space: SpacePolicy;
  tools: readonly RegisteredTool[];
}

/** What reads the rows; nothing is remembered between two readings. */
export interface RowReader {
  read(spaceId: string, agent: string): Promise<FreshRows>;
}

export type Judged = PolicyDecision & { policyVersion: string };

/** The rules in force, and the one way to ask them. */
export class Policy {
  /** Digest of what decisions are made from in a space that says nothing. */
  readonly version: string;

  constructor(
    readonly rules: RuleSet,
    private readonly rows: RowReader,
  ) {
    this.version = policyVersion(rules, NO_SPACE_POLICY, sha256Hex);
  }

  read(spaceId: string, agent: string): Promise<FreshRows> {
    return this.rows.read(spaceId, agent);
  }

  /** The verdict on a call under the rows that were just read. No I/O: whoever keeps rows decides on old ones. */
  judge(stated: StatedTool, content: Call['content'], { space, tools }: FreshRows, exhausted = false): Judged {
    const { agent, server, tool, action } = stated;
    const facts = factsOf(stated, tools);
    const decision = decide({ agent, server, tool, action, content }, facts, this.rules, space, exhausted);
    return { ...decision, policyVersion: policyVersion(this.rules, space, sha256Hex) };
  }
}
