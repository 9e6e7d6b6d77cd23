import { type PolicyExplanation, policyExplanation, policyLintReply, readAction } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { draftIn } from '../draft.js';
import { misused } from '../failure.js';
import { document, say } from '../output.js';
import { spaceOf } from '../spaces-of.js';
import { facts, inline, span, table } from '../text.js';

export interface ExplainOptions {
  json?: boolean;
  space?: string;
  agent: string;
  arguments?: string;
  draft?: string;
}

/** What would become of a call, and what became of each rule on the way. */
export async function explain(client: Client, action: string, o: ExplainOptions): Promise<number> {
  const call = callOf(action);
  const draft = o.draft === undefined ? {} : await draftIn(o.draft);
  const spaceId = await spaceOf(client, o.space);
  const asked = { spaceId, agent: o.agent, ...call, ...(o.arguments !== undefined && { arguments: o.arguments }) };
  const told = await client.post('policy', '/v1/policy/explain', { ...asked, ...draft }, policyExplanation);
  if (o.json) document(told);
  else say(...described(told));
  return 0;
}

/** @returns 1 when anything is wrong with the file */
export async function lint(client: Client, file: string, o: { json?: boolean; space?: string }): Promise<number> {
  const draft = await draftIn(file);
  const spaceId = await spaceOf(client, o.space);
  const told = await client.post('policy', '/v1/policy/lint', { spaceId, ...draft }, policyLintReply);
  if (o.json) document(told);
  else if (told.ok) say(`${inline(file, 200)}: nothing is wrong with ${'file' in draft ? UNDER_POLICY : 'it.'}`);
  else
    say(`${inline(file, 200)} would be refused as a whole:`, ...told.faults.map((fault) => `  ${inline(fault, 400)}`));
  return told.ok ? 0 : 1;
}

const UNDER_POLICY =
  'its section `policy`. The start checks the rest: agents, secrets, consumers, and whether the tools exist.';

/** The names of an action as it is written for people. @throws Failure (usage) */
export function callOf(action: string): { server: string; tool: string; action: string | null } {
  const triple = readAction(action);
  if (triple === null)
    throw misused(`${inline(action)} is no action: write Tool.action, or server/tool or server/tool.action.`);
  return triple;
}

function described(told: PolicyExplanation): string[] {
  const { verdict, wouldBe, rule, because, flags, tool, rules, readings, readingsCount } = told;
  const aside = wouldBe === undefined ? '' : ` (only recorded, log-only: it would be ${wouldBe})`;
  const lines = [
    `${verdict}${aside}`,
    ...facts([
      ['rule', inline(rule, 300)],
      ['because', because],
      ['tool', tool === null ? 'not found' : `${tool.origin}, ${tool.hint}, scope ${tool.scope}`],
      ['flags', flags.length === 0 ? 'none' : inline(flags.join(', '), 300)],
      ...(told.expiresAfterSeconds === undefined
        ? []
        : [['waits', span(told.expiresAfterSeconds * 1000)] as [string, string]]),
    ]),
  ];
  if (readingsCount > 1)
    lines.push(
      '',
      `The call could be taken for ${readingsCount}; the strictest verdict counts:`,
      ...table(
        ['  SERVER', 'TOOL', 'ACTION', 'AGENT', 'VERDICT', 'RULE'],
        readings.map((r) => [
          `  ${inline(r.server, 24)}`,
          inline(r.tool, 40),
          r.action === null ? '-' : inline(r.action, 40),
          inline(r.agent, 24),
          r.verdict,
          inline(r.rule, 60),
        ]),
      ),
    );
  if (rules.length === 0) return lines;
  const matched = rules.filter((r) => r.matched);
  return [
    ...lines,
    '',
    ...table(
      ['RULE', 'VERDICT', 'BECAME', 'WHY'],
      matched.map((r) => [inline(r.rule, 60), r.verdict, r.fate, inline(r.why, 120)]),
    ),
    ...notMatched(rules.filter((r) => !r.matched)),
  ];
}

const MOST_SHOWN = 20;

function notMatched(rules: PolicyExplanation['rules']): string[] {
  if (rules.length === 0) return [];
  const shown = rules.slice(0, MOST_SHOWN).map((r) => `  ${inline(r.rule, 60)}: ${inline(r.why, 100)}`);
  const more = rules.length - shown.length;
  return ['', 'Not of this call:', ...shown, ...(more > 0 ? [`  and ${more} more; --json has them all`] : [])];
}
