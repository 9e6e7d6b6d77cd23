import type { SpaceRuleView } from '@holdpoint/contracts';
import type { Transaction } from 'kysely';
import { ruleSetOf } from './config.js';
import type { RuleSet, SpaceRule } from './domain/rules.js';
import { spaceRuleOf } from './domain/space-rule.js';
import { objectionsToRules } from './domain/space-rules.js';
import { OperatorFileError, parseOperatorFile } from './operator-file.js';
import * as refusal from './refusals.js';
import { registry } from './store/registry.js';
import type { PolicyDatabase } from './store/schema.js';

/** Rules that somebody writes and that are not in force: a space's list, or the text of a holdpoint.yaml. */
export interface Draft {
  rules?: SpaceRuleView[] | undefined;
  file?: string | undefined;
}

/** What a draft puts in the place of what is in force; absent: that stays. */
export interface Drafted {
  operator?: RuleSet;
  space?: SpaceRule[];
}

/** What is wrong with a draft, by the same check that it would meet in force; none: it would be taken. */
export async function faultsOf(tx: Transaction<PolicyDatabase>, spaceId: string, draft: Draft): Promise<string[]> {
  if (draft.file !== undefined) return faultsOfFile(draft.file);
  const objections = objectionsToRules(draft.rules ?? [], await registry.list(tx, spaceId));
  return objections.map((o) => `rules.${o.index}.${o.field}: ${o.message}`);
}

/** @throws Refusal when anything is wrong with it: then nothing is said of what it would do */
export async function drafted(tx: Transaction<PolicyDatabase>, spaceId: string, draft: Draft): Promise<Drafted> {
  const faults = await faultsOf(tx, spaceId, draft);
  if (faults.length > 0) throw refusal.draftRefused(faults);
  return {
    ...(draft.file === undefined ? {} : { operator: ruleSetOf(parseOperatorFile(draft.file)) }),
    ...(draft.rules === undefined ? {} : { space: draft.rules.map(spaceRuleOf) }),
  };
}

/** The text is a stranger's: whatever it does to the parser is a fault of the text. */
function faultsOfFile(text: string): string[] {
  try {
    parseOperatorFile(text);
    return [];
  } catch (err) {
    if (err instanceof OperatorFileError) return [...err.faults];
    return ['line 1: it cannot be read as YAML: it is nested too deeply, or repeats itself by too many aliases'];
  }
}
