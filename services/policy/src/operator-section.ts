import { approvalRequirement, name, policyMode, USUAL_REQUIREMENT, verdict } from '@holdpoint/contracts';
import { strictFields } from '@holdpoint/runtime';
import { z } from 'zod';
import { BUILTIN_SERVER, type Fallback, type Rule } from './domain/rules.js';

const UNIT_SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const YEAR_SECONDS = 365 * 86_400;

/** A whole number of seconds, or one with a unit: `90s`, `30m`, `12h`, `3d`. At most a year. */
const DURATION = 'must be seconds, or a number with s, m, h or d, such as 3d';
const duration = z
  .union([z.int(), z.string().regex(/^\d{1,9}[smhd]$/, DURATION)], { error: DURATION })
  .transform((v) =>
    typeof v === 'number' ? v : Number(v.slice(0, -1)) * UNIT_SECONDS[v.slice(-1) as keyof typeof UNIT_SECONDS],
  )
  .refine((seconds) => seconds >= 1 && seconds <= YEAR_SECONDS, 'must be between one second and 365 days');

/** A pattern would be taken for a name that nothing has: a ban that its author believes in and that never holds. */
const PATTERN = /[*?|[\]^$%\\]/;
const ruleName = name
  .refine((n) => n === n.trim() && !/\p{C}/u.test(n), 'must have no space around it and no hidden characters')
  .refine(
    (n) => !PATTERN.test(n),
    'takes no wildcard and no pattern: write the name, or leave the field out to mean any',
  );

/**
 * Who releases what the rule holds. Left out: `votes` 1, `fromGroups` 0, the requester may. Naming nobody means owners and
 * admins; naming users or groups alone means exactly those.
 */
const approval = strictFields({
  roles: approvalRequirement.shape.roles.optional(),
  users: approvalRequirement.shape.users.optional(),
  groups: approvalRequirement.shape.groups.optional(),
  votes: approvalRequirement.shape.votes.default(USUAL_REQUIREMENT.votes),
  fromGroups: approvalRequirement.shape.fromGroups.default(USUAL_REQUIREMENT.fromGroups),
  requester: z.enum(['allowed', 'excluded']).optional(),
  requesterExcluded: z.boolean().optional(),
})
  .refine((a) => a.requester === undefined || a.requesterExcluded === undefined, {
    path: ['requesterExcluded'],
    error: 'says the same as `requester`: keep one',
  })
  .transform(({ roles, users, groups, requester, requesterExcluded, ...votes }) => ({
    roles: roles ?? (users === undefined && groups === undefined ? USUAL_REQUIREMENT.roles : []),
    users: users ?? [],
    groups: groups ?? [],
    ...votes,
    requesterExcluded: requester === undefined ? (requesterExcluded ?? false) : requester === 'excluded',
  }))
  .pipe(approvalRequirement)
  .refine((r) => r.roles.length > 0 || r.groups.length > 0 || r.users.length >= r.votes, {
    path: ['votes'],
    error: 'must not be more than the users who are named: nothing would ever be released',
  })
  .refine((r) => r.groups.length === 0 || r.fromGroups <= r.groups.length, {
    path: ['fromGroups'],
    error: 'must not be more than the groups that are named: nothing would ever be released',
  });

/** What the rule says beside its verdict. Terms of a release make sense only where something is held. */
const terms = { approval: approval.optional(), expiresAfter: duration.optional(), loosenable: z.boolean().optional() };
const HOLDS_ONLY = 'is for rules whose verdict is `approve`: nothing else waits for a person';
const holds = (r: { verdict: string }): boolean => r.verdict === 'approve';

const rule = strictFields({
  tool: ruleName,
  action: ruleName.optional(),
  server: ruleName.optional(),
  agent: ruleName.optional(),
  verdict,
  reason: z.string().min(1).max(200).optional(),
  ...terms,
})
  .refine((r) => holds(r) || r.approval === undefined, { path: ['approval'], error: HOLDS_ONLY })
  .refine((r) => holds(r) || r.expiresAfter === undefined, { path: ['expiresAfter'], error: HOLDS_ONLY })
  .refine((r) => (r.server ?? BUILTIN_SERVER) !== BUILTIN_SERVER || !r.tool.includes('.'), {
    path: ['tool'],
    error: 'must be the tool alone: write the action in `action`, or the server of a foreign tool in `server`',
  })
  .transform(
    ({ approval: requirement, expiresAfter: expiresAfterSeconds, ...r }): Rule => ({
      origin: 'operator',
      ...r,
      requirement,
      expiresAfterSeconds,
    }),
  );

/** A verdict alone, or one with terms. */
const fallback = z.preprocess(
  (written) => (typeof written === 'string' ? { verdict: written } : written),
  strictFields({ verdict, approval: terms.approval, loosenable: terms.loosenable })
    .refine((r) => holds(r) || r.approval === undefined, { path: ['approval'], error: HOLDS_ONLY })
    .transform(({ approval: requirement, ...said }): Fallback => ({ ...said, requirement })),
);

/** An hour at most: what was counted is forgotten after a day. */
export const rateLimit = strictFields({ calls: z.int().min(1).max(100_000), seconds: z.int().min(1).max(3_600) });

/** The `policy:` section of holdpoint.yaml. */
export const operatorSection = strictFields({
  mode: policyMode.optional(),
  default: fallback.optional(),
  expiresAfter: duration.optional(),
  rateLimit: rateLimit.optional(),
  rules: z.array(rule).nullish(),
});
