import type { Identity, SetSpaceRulesRequest, SpaceRulesView, SpaceRuleView } from '@holdpoint/contracts';
import { describeRule } from './domain/rules.js';
import { spaceRuleOf } from './domain/space-rule.js';
import { objectionsToRules } from './domain/space-rules.js';
import type { PolicyChanges } from './policy-changes.js';
import * as refusal from './refusals.js';
import { type AuditQuery, audits } from './store/audits.js';
import { registry } from './store/registry.js';
import { rulesViewOf, spaceRules } from './store/space-rules.js';

/** As long as an event can tell it. */
const LONGEST_TEXT = 200_000;

/** The rules that a space makes for its own agents, beside the operator's. */
export class SpaceRules {
  constructor(private readonly changes: PolicyChanges) {}

  get(who: Identity, spaceId: string): Promise<SpaceRulesView> {
    return this.changes.seen(who, spaceId, async (tx) => rulesViewOf(spaceId, await spaceRules.find(tx, spaceId)));
  }

  audit(who: Identity, spaceId: string, query: AuditQuery) {
    return this.changes.seen(who, spaceId, (tx) => audits.rules(tx, spaceId, query));
  }

  /**
   * Sets the whole list; of several at once the last wins. The same again changes nothing. Once it is answered, no call
   * executes by the rules from before.
   * @throws Refusal that names each rule that is wrong; then none of the list holds
   */
  set(who: Identity, spaceId: string, { rules }: SetSpaceRulesRequest): Promise<SpaceRulesView> {
    return this.changes.ofSpace(who, spaceId, async ({ tx, tell }) => {
      const before = await spaceRules.find(tx, spaceId);
      const objections = objectionsToRules(rules, await registry.list(tx, spaceId));
      if (objections.length > 0) throw refusal.rulesObjected(objections);
      const text = JSON.stringify(rules);
      if (text.length > LONGEST_TEXT) throw refusal.rulesTooLong();
      if (before !== undefined && JSON.stringify(before.rules) === text)
        return { value: rulesViewOf(spaceId, before), tightens: false };
      const { revision, at } = await tell(
        {
          what: 'rules',
          added: without(rules, before?.rules ?? []),
          removed: without(before?.rules ?? [], rules),
          rules: text,
        },
        before?.updated_at,
      );
      const row = { space_id: spaceId, rules, updated_at: at, updated_by: who.id, revision };
      await spaceRules.set(tx, row);
      return { value: rulesViewOf(spaceId, row), tightens: true };
    });
  }
}

function without(rules: readonly SpaceRuleView[], others: readonly SpaceRuleView[]): string[] {
  const known = new Set(others.map((r) => JSON.stringify(r)));
  return rules
    .filter((r) => !known.has(JSON.stringify(r)))
    .map((r) => `${describeRule(spaceRuleOf(r)).slice(0, 290)}: ${r.verdict}`);
}
