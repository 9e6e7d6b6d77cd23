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
  return (await checked(tx, spaceId, draft)).faults;
}

/** @throws Refusal when anything is wrong with it: then nothing is said of what it would do */
export async function drafted(tx: Transaction<PolicyDatabase>, spaceId: string, draft: Draft): Promise<Drafted> {
  const { faults, ...sound } = await checked(tx, spaceId, draft);
  if (faults.length > 0) throw refusal.draftRefused(faults);
  return sound;
}

type Checked = Drafted & { faults: string[] };

async function checked(tx: Transaction<PolicyDatabase>, spaceId: string, { rules, file }: Draft): Promise<Checked> {
  if (file !== undefined) return checkedFile(file);
  if (rules === undefined) return { faults: [] };
  const objections = objectionsToRules(rules, await registry.list(tx, spaceId));
  return {
    space: rules.map(spaceRuleOf),
    faults: objections.map((o) => `rules.${o.index}.${o.field}: ${o.message}`).slice(0, MOST_FAULTS),
  };
}

const MOST_FAULTS = 100;
const MOST_LINES = 3_000;
const DEEPEST = 50;

/** The text is a stranger's: what would keep the parser busy is not given to it, and what breaks it is a fault of the text. */
function checkedFile(text: string): Checked {
  if (text.split('\n', MOST_LINES + 1).length > MOST_LINES)
    return { faults: [`line ${MOST_LINES}: a draft has fewer lines: leave out the sections of other services`] };
  if (depthOf(text) > DEEPEST) return { faults: ['line 1: it is nested too deeply: close the brackets that it opens'] };
  try {
    return { operator: ruleSetOf(parseOperatorFile(text)), faults: [] };
  } catch (err) {
    if (err instanceof OperatorFileError) return { faults: err.faults.slice(0, MOST_FAULTS) };
    return { faults: ['line 1: it cannot be read as YAML: it is nested too deeply, or repeats itself by aliases'] };
  }
}

/** How many brackets and indicators of lists and keys stand open at once at most, wherever they stand. */
function depthOf(text: string): number {
  let [depth, most, inLine] = [0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '[' || c === '{') depth += 1;
    else if ((c === ']' || c === '}') && depth > 0) depth -= 1;
    else if (c === '\n') inLine = 0;
    else if ((c === '-' || c === '?') && text[i + 1] === ' ') inLine += 1;
    most = Math.max(most, depth + inLine);
  }
  return most;
}
