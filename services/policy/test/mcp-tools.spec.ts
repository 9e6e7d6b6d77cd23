import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Hint, Verdict } from '@holdpoint/contracts';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { decide } from '../src/domain/decide.js';
import {
  BUILT_IN_RULES,
  NO_SPACE_POLICY,
  RATE_LIMIT,
  type RuleSet,
  type SpaceRule,
  stricter,
} from '../src/domain/rules.js';
import { factsOf } from '../src/domain/tool-facts.js';

// Tools of MCP servers as they describe themselves: many annotations are missing or wrong, and none may loosen a verdict.

const mcpTool = z.object({
  server: z.string(),
  tool: z.string(),
  annotations: z
    .object({
      readOnlyHint: z.boolean(),
      destructiveHint: z.boolean(),
      idempotentHint: z.boolean(),
      openWorldHint: z.boolean(),
    })
    .partial()
    .nullish(),
  enums: z.record(z.string(), z.array(z.string())).nullish(),
});
type McpTool = z.infer<typeof mcpTool>;

/** A sample of our own, and beside the repository real definitions of six servers where they are kept. */
const shared = join(import.meta.dirname, '..', '..', '..', '..', 'shared', 'cases', 'mcp-tools.json');
const TOOLS = [join(import.meta.dirname, 'mcp-tools-sample.json'), ...(existsSync(shared) ? [shared] : [])].flatMap(
  (path) => z.array(mcpTool).parse(JSON.parse(readFileSync(path, 'utf8'))),
);

/** Only its name and server are known, which is what an honest stranger may claim. */
const UNANNOTATED: Hint = 'write';
const believed = ({ annotations }: McpTool): Hint =>
  annotations?.destructiveHint ? 'destructive' : annotations?.readOnlyHint ? 'read' : UNANNOTATED;

const rulesOf = (more: Partial<RuleSet> = {}): RuleSet => ({
  builtin: BUILT_IN_RULES,
  operator: [],
  fallback: null,
  mode: 'enforce',
  expiresAfterSeconds: 60,
  rateLimit: RATE_LIMIT,
  ...more,
});

const verdictOn = (
  t: McpTool,
  action: string | null,
  declared: Hint,
  stated: Hint,
  rules: RuleSet,
  space: SpaceRule[] = [],
): Verdict => {
  const said = {
    agent: 'assistant',
    server: t.server,
    tool: t.tool,
    action,
    origin: 'foreign' as const,
    hint: stated,
    scope: 'user' as const,
  };
  const names = actionsOf(t);
  const facts = factsOf(said, {
    announced: true,
    tools: [
      {
        server: t.server,
        tool: t.tool,
        origin: 'foreign',
        agents: ['assistant'],
        actions: names.map((name) => ({ name, hint: declared, scope: 'user' })),
      },
    ],
  });
  return decide({ ...said, content: { readable: true, flags: [] } }, facts, rules, { ...NO_SPACE_POLICY, rules: space })
    .verdict;
};

/** Of a tool that does several things, what one of its enumerations says that they are. */
const actionsOf = ({ enums }: McpTool): (string | null)[] => {
  const [names] = Object.values(enums ?? {});
  return names === undefined || names.length === 0 ? [null] : [...new Set(names)];
};

const calls = TOOLS.flatMap((t) => [...new Set([...actionsOf(t), null])].map((action) => ({ t, action })));

test('without a rule none of them runs by itself', () => {
  expect(TOOLS.length).toBeGreaterThanOrEqual(8);
  for (const { t, action } of calls) {
    for (const declared of [UNANNOTATED, believed(t)])
      for (const fallback of [null, { verdict: 'auto' as const }])
        expect([t.server, t.tool, verdictOn(t, action, declared, 'read', rulesOf({ fallback }))]).not.toContain('auto');
  }
});

test('nor by a rule that does not name its server, the operator’s or a space’s', () => {
  for (const { t, action } of calls) {
    const operator = [{ origin: 'operator' as const, tool: t.tool, verdict: 'auto' as const }];
    const space: SpaceRule[] = [
      { origin: 'space', tool: t.tool, verdict: 'auto' },
      { origin: 'space', verdict: 'auto' },
    ];
    expect([t.server, t.tool, verdictOn(t, action, 'read', 'read', rulesOf({ operator }), space)]).not.toContain(
      'auto',
    );
  }
});

test('what it says of itself loosens no verdict under any rule', () => {
  for (const { t, action } of calls) {
    const named = { tool: t.tool, server: t.server };
    const sets: [RuleSet, SpaceRule[]][] = (['auto', 'approve', 'deny'] as const).flatMap((verdict) => [
      [rulesOf({ operator: [{ origin: 'operator', ...named, verdict }] }), []],
      [rulesOf(), [{ origin: 'space', ...named, verdict }]],
      [rulesOf({ fallback: { verdict } }), []],
    ]);
    for (const [rules, space] of sets) {
      const unannotated = verdictOn(t, action, UNANNOTATED, UNANNOTATED, rules, space);
      for (const stated of ['read', 'write', 'destructive'] as const)
        expect(stricter(unannotated, verdictOn(t, action, believed(t), stated, rules, space))).toBe(false);
    }
  }
});
