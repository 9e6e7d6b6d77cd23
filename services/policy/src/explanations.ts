import type {
  Identity,
  PolicyExplainRequest,
  PolicyExplanation,
  PolicyLintReply,
  PolicyLintRequest,
  TriedRule,
} from '@holdpoint/contracts';
import { sha256Hex } from '@holdpoint/runtime';
import { seenIn } from './content-inspector.js';
import { explain } from './domain/explain.js';
import { policyVersion } from './domain/policy-version.js';
import { BUILTIN_SERVER } from './domain/rules.js';
import { factsOf } from './domain/tool-facts.js';
import type { Tried } from './domain/tried.js';
import { drafted, faultsOf } from './drafts.js';
import type { Policy } from './policy.js';
import type { PolicyChanges } from './policy-changes.js';

const MOST_READINGS = 20;

/** Answers to whoever writes rules. Nothing of what they ask is kept, and nothing comes of it. */
export class Explanations {
  constructor(
    private readonly changes: PolicyChanges,
    private readonly policy: Policy,
  ) {}

  /**
   * What would become of a call, by what is in force or by a draft, and why. What the tool is, is taken from the registry; a
   * space that has none yet gets the answer for an ordinary tool that may write. Counts towards no rate limit.
   * @throws Refusal for whoever is no member, and for a draft that would not be taken
   */
  async explain(who: Identity, asked: PolicyExplainRequest): Promise<PolicyExplanation> {
    const { spaceId, agent, server = BUILTIN_SERVER, tool, action = null } = asked;
    const draft = await this.changes.seen(who, spaceId, (tx) => drafted(tx, spaceId, asked));
    const rows = await this.policy.read(spaceId, agent);
    const stated = {
      agent,
      server,
      tool,
      action,
      origin: server === BUILTIN_SERVER ? ('builtin' as const) : ('foreign' as const),
      // the registry makes it graver where it knows better
      hint: rows.announced ? ('read' as const) : ('write' as const),
      scope: 'user' as const,
    };
    const facts = factsOf(stated, rows);
    const content =
      asked.arguments === undefined
        ? { readable: true, flags: [] }
        : await seenIn(typeof asked.arguments === 'string' ? asked.arguments : JSON.stringify(asked.arguments));
    const rules = draft.operator ?? this.policy.rules;
    const space = draft.space === undefined ? rows : { ...rows, rules: draft.space };
    const { decision, because, readings, tried } = explain(
      { agent, server, tool, action, content },
      facts,
      rules,
      space,
    );
    const { verdict, wouldBe, reason, rule, flags, requirements, expiresAfterSeconds } = decision;
    return {
      verdict,
      ...(wouldBe === undefined ? {} : { wouldBe }),
      reason,
      rule,
      because,
      flags,
      ...(requirements === undefined ? {} : { requirements }),
      ...(expiresAfterSeconds === undefined ? {} : { expiresAfterSeconds }),
      policyVersion: policyVersion(rules, space, sha256Hex),
      tool: facts === null ? null : { origin: facts.origin, scope: facts.scope, hint: facts.hint },
      rules: tried.map(toldOf),
      readings: readings.slice(0, MOST_READINGS).map((r) => ({
        server: r.reading.server,
        tool: r.reading.tool,
        action: r.reading.action,
        agent: r.reading.agent,
        verdict: r.verdict,
        rule: r.rule,
      })),
      readingsCount: readings.length,
    };
  }

  /** @throws Refusal for whoever is no member */
  async lint(who: Identity, asked: PolicyLintRequest): Promise<PolicyLintReply> {
    const faults = await this.changes.seen(who, asked.spaceId, (tx) => faultsOf(tx, asked.spaceId, asked));
    return { ok: faults.length === 0, faults };
  }
}

const toldOf = (t: Tried): TriedRule => ({ ...t, matched: t.fate !== 'no-match', why: whyOf(t) });

function whyOf({ fate, mismatch, by, origin }: Tried): string {
  switch (fate) {
    case 'decides':
      return 'It is the strictest that is heard.';
    case 'agrees':
      return 'It is as strict as the one that decides; whatever it asks of a release holds too.';
    case 'milder':
      return `A stricter one decides: ${by}.`;
    case 'loosened':
      return `The space says something milder, and may: ${by}.`;
    case 'silenced':
      return origin === 'builtin' ? `The operator names the action: ${by}.` : `A rule that names more is heard: ${by}.`;
    case 'no-match':
      return mismatch === 'server'
        ? 'It is for another server, or lets run without naming the server of a foreign tool.'
        : `It is for another ${mismatch}.`;
  }
}
