import { z } from 'zod';
import { executionClass, hint, verdict } from './call.js';
import { name, timestamp, token } from './ids.js';
import { userId } from './principal.js';
import { approvalRequirement } from './requirement.js';

/** What is matched. The text below is for people, pages and requests. */
export interface ActionTriple {
  server: string;
  tool: string;
  /** Null: the tool itself, which declares no actions. */
  action: string | null;
}

const BUILTIN = 'builtin';
const LONGEST = 300;
const SHAPE = /^(?:((?:[\w-]|%[0-9A-F]{2})+)\/)?((?:[\w-]|%[0-9A-F]{2})+)(?:\.((?:[\w-]|%[0-9A-F]{2})+))?$/;

/**
 * An action as people write it: `Tool.action` of a built-in tool, `server/tool` or `server/tool.action` of another server.
 * Whatever is not `[A-Za-z0-9_-]` in a name is percent-encoded, so that no two triples have one text. Null when the names
 * cannot be written in 300 characters: such an action cannot be opted in to.
 */
export function writeAction({ server, tool, action }: ActionTriple): string | null {
  const names = [server, tool, ...(action === null ? [] : [action])];
  if (names.some((n) => n === '' || !n.isWellFormed())) return null;
  const written = `${server === BUILTIN ? '' : `${encoded(server)}/`}${encoded(tool)}${action === null ? '' : `.${encoded(action)}`}`;
  return written.length <= LONGEST ? written : null;
}

/** The one triple that is written so, or null. */
export function readAction(text: string): ActionTriple | null {
  const [, server, tool, action] = SHAPE.exec(text) ?? [];
  if (tool === undefined) return null;
  try {
    const triple = {
      server: server === undefined ? BUILTIN : decodeURIComponent(server),
      tool: decodeURIComponent(tool),
      action: action === undefined ? null : decodeURIComponent(action),
    };
    return writeAction(triple) === text ? triple : null;
  } catch {
    return null;
  }
}

const encoded = (n: string): string =>
  encodeURIComponent(n).replace(/[.!~*'()]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** Seed 001's `module.verb`, widened to the names that tools have. */
export const actionName = z
  .string()
  .max(LONGEST)
  .refine((text) => readAction(text) !== null, {
    error:
      'must be Tool.action, or server/tool or server/tool.action, with everything but letters, digits, _ and - percent-encoded',
  });

// preferences

export const spacePolicyView = z.object({
  spaceId: token,
  allowDestructive: z.array(z.string()),
  /** Null, as `updatedBy`, when nothing was ever set. */
  updatedAt: timestamp.nullable(),
  updatedBy: userId.nullable(),
});
export type SpacePolicyView = z.infer<typeof spacePolicyView>;

export const setSpacePolicyRequest = z.strictObject({
  /** The whole new list, not a change to the old one. */
  allowDestructive: z
    .array(actionName)
    .max(50)
    .refine((names) => new Set(names).size === names.length, 'must name each action once'),
  /** Has to be true when the list allows anything that was not allowed before. */
  acknowledged: z.boolean().optional(),
});
export type SetSpacePolicyRequest = z.infer<typeof setSpacePolicyRequest>;

const auditEntryOf = {
  id: z.uuid(),
  spaceId: token,
  actorId: userId,
  /** As it is now; the id itself when the person is no longer a member. */
  actorDisplayName: z.string(),
  action: z.enum(['added', 'removed']),
  at: timestamp,
};
const auditPage = <T extends z.ZodType>(entry: T) =>
  z.object({ entries: z.array(entry), nextCursor: z.string().optional() });

export const spacePolicyAudit = auditPage(z.object({ ...auditEntryOf, toolName: z.string() }));
export type SpacePolicyAudit = z.infer<typeof spacePolicyAudit>;

// rules

const any = <T extends z.ZodType>(of: T) => of.nullish().transform((v) => v ?? null);

/** A field that is null, or left out, stands for any value; without a tool the rule is for whatever no rule names. */
export const spaceRule = z
  .strictObject({
    server: any(name),
    tool: any(name),
    action: any(name),
    agent: any(name),
    verdict,
    /** Shown to people and to the model. */
    reason: any(z.string().trim().min(1).max(200)),
    /** Who has to release the call, besides those that the operator's rule asks for. */
    requirement: any(approvalRequirement),
    expiresAfterSeconds: any(
      z
        .int()
        .min(1)
        .max(365 * 86_400),
    ),
  })
  .refine((r) => r.tool !== null || (r.server === null && r.action === null), {
    path: ['tool'],
    error: 'must be given with a server or an action',
  })
  .refine((r) => r.verdict === 'approve' || (r.requirement === null && r.expiresAfterSeconds === null), {
    path: ['verdict'],
    error: 'must be approve for a requirement or an expiry: nothing else waits for a person',
  });
export type SpaceRuleView = z.output<typeof spaceRule>;

export const setSpaceRulesRequest = z.strictObject({ rules: z.array(spaceRule).max(200) });
export type SetSpaceRulesRequest = z.output<typeof setSpaceRulesRequest>;

export const spaceRulesView = z.object({
  spaceId: token,
  rules: z.array(spaceRule),
  updatedAt: timestamp.nullable(),
  updatedBy: userId.nullable(),
});
export type SpaceRulesView = z.output<typeof spaceRulesView>;

export const spaceRulesAudit = auditPage(z.object({ ...auditEntryOf, rule: spaceRule }));
export type SpaceRulesAudit = z.output<typeof spaceRulesAudit>;

// the registry

/** An action of a tool as the space's agents have it, for whoever decides about opt-ins and rules. */
const toolActionView = z.object({
  /** As `PUT …/policy` names it; null: it cannot be written, so it cannot be opted in to. */
  toolName: z.string().nullable(),
  action: name.nullable(),
  description: z.string(),
  hint,
  scope: z.enum(['user', 'admin']),
  executionClass,
  optedIn: z.boolean(),
  /** What a call of it would get now, agent by agent, and by which rule. */
  verdicts: z.array(z.object({ agent: name, verdict, reason: z.string(), rule: z.string() })),
});

/** Names and descriptions of a foreign tool are a stranger's text. */
export const spaceToolView = z.object({
  server: name,
  tool: name,
  origin: z.enum(['builtin', 'foreign']),
  description: z.string(),
  affectedData: z.string().nullable(),
  agents: z.array(name),
  actions: z.array(toolActionView),
});
export type SpaceToolView = z.infer<typeof spaceToolView>;

// halts

export const haltScope = z.enum(['everything', 'space', 'agent']);
export type HaltScope = z.infer<typeof haltScope>;

export const haltRequest = z
  .strictObject({
    scope: haltScope,
    spaceId: token.optional(),
    agent: name.optional(),
    reason: z.string().trim().min(1).max(500),
  })
  .refine((h) => (h.scope === 'everything') === (h.spaceId === undefined), {
    path: ['spaceId'],
    error: 'must be named, unless everything is halted',
  })
  .refine((h) => (h.scope === 'agent') === (h.agent !== undefined), {
    path: ['agent'],
    error: 'must be named exactly when one agent is halted',
  });
export type HaltRequest = z.infer<typeof haltRequest>;

export const haltView = z.object({
  id: token,
  scope: haltScope,
  spaceId: token.nullable(),
  agent: name.nullable(),
  reason: z.string(),
  setBy: userId,
  setAt: timestamp,
  /** Null: it is in force. */
  liftedBy: userId.nullable(),
  liftedAt: timestamp.nullable(),
});
export type HaltView = z.infer<typeof haltView>;
