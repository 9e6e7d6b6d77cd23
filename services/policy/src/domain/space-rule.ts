import type { SpaceRuleView } from '@holdpoint/contracts';
import type { SpaceRule } from './rules.js';

/** The rule as it is matched, from the rule as it is stored and shown. */
export const spaceRuleOf = (r: SpaceRuleView): SpaceRule => ({
  origin: 'space',
  ...Object.fromEntries(Object.entries(r).filter(([, value]) => value !== null)),
  verdict: r.verdict,
});
