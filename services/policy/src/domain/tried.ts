import type { Verdict } from '@holdpoint/contracts';
import { describeRule, type Rule, type Saying, type SpaceRule } from './rules.js';

/** The field of a rule because of which it does not speak of a reading. */
export type Mismatch = 'tool' | 'server' | 'action' | 'agent';

/**
 * What became of a rule: `decides`; `agrees`, being as strict, so that its terms hold too; `milder`, so that a stricter one
 * decides; `silenced` by a narrower rule, or by the operator's for a built-in one; `loosened` by a milder one of the space;
 * or it does not speak of the call.
 */
export type Fate = 'decides' | 'agrees' | 'milder' | 'silenced' | 'loosened' | 'no-match';

export interface Tried {
  rule: string;
  origin: 'builtin' | 'operator' | 'space';
  verdict: Verdict;
  fate: Fate;
  /** With `no-match`. */
  mismatch: Mismatch | null;
  /** The rule that silenced or loosened it, or that decides where it is milder. */
  by: string | null;
}

/** What `resolve` tells of the rules of one reading, each under what it says, in the order in which they are tried. */
export class Trace {
  readonly #tried = new Map<Saying, Tried>();

  get tried(): Tried[] {
    return [...this.#tried.values()];
  }

  rule(
    rule: Rule | SpaceRule,
    fate: Fate,
    more: { mismatch?: Mismatch | null; by?: Rule | SpaceRule | undefined },
  ): void {
    const { origin, verdict } = rule;
    const by = more.by === undefined ? null : describeRule(more.by);
    this.#tried.set(rule, { rule: describeRule(rule), origin, verdict, fate, mismatch: more.mismatch ?? null, by });
  }

  voice(v: { says: Saying; from: Tried['origin']; rule: () => string }, fate: Fate, by: string | null): void {
    const told = { rule: v.rule(), origin: v.from, verdict: v.says.verdict };
    this.#tried.set(v.says, { ...told, fate, mismatch: null, by });
  }
}
