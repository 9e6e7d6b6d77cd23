import { z } from 'zod';
import { callRef, hint } from '../call.js';
import { sha256Hex, timestamp, token } from '../ids.js';
import { principal, role } from '../principal.js';
import { approvalRequirement, castVote } from '../requirement.js';
import { sealed } from '../sealed.js';
import { define } from './define.js';

const frozenCall = callRef.extend({ schemaDigest: sha256Hex, digest: sha256Hex });

export const callStaged = define({
  type: 'call.staged',
  version: 1,
  publisher: 'staging',
  entity: 'call',
  once: true,
  description: 'The call is held, under a number for people: acme#42.',
  when: 'When a call whose verdict is `approve` was fetched, found unchanged, and put before people.',
  data: z.strictObject({
    call: frozenCall,
    number: z.int().min(1),
    hint,
    expiresAt: timestamp,
    rule: z.string().min(1).max(300),
    policyVersion: z.string().min(1).max(64),
    flags: z.array(z.string().max(64)).max(32),
  }),
});

export const approvalVoted = define({
  type: 'approval.voted',
  version: 1,
  publisher: 'staging',
  entity: 'call',
  once: false,
  description: 'One vote of several. It binds to the digest that the voter saw.',
  when: 'When somebody approves a call that asks for more than one owner or admin; the vote that releases it included.',
  data: z.strictObject({
    call: frozenCall,
    number: z.int().min(1),
    vote: z.enum(['approve', 'reject']),
    by: principal,
    digestSeen: sha256Hex,
    role: role.optional().describe('What the voter was in the space when they voted.'),
    groups: z.array(token).max(50).optional(),
    requirements: z
      .array(approvalRequirement)
      .min(1)
      .max(8)
      .optional()
      .describe('What policy asked for when the vote was cast, besides what it asked for in its verdict.'),
    reason: sealed.nullable(),
  }),
});

export const decision = z.enum(['approved', 'rejected', 'expired', 'withdrawn']);
export type Decision = z.infer<typeof decision>;

export const approvalDecided = define({
  type: 'approval.decided',
  version: 1,
  publisher: 'staging',
  entity: 'call',
  once: true,
  description: 'The one decision on a held call. An approval carries the sealed frozen bytes that were seen.',
  when: 'When a person approves, rejects or withdraws a held call, when its deadline passes, or when policy denies it by then.',
  data: z.strictObject({
    call: frozenCall,
    number: z.int().min(1),
    decision,
    by: principal.nullable().describe('Who decided; null when the deadline or the policy did.'),
    decidedAt: timestamp,
    reason: sealed.nullable(),
    cause: z
      .enum(['person', 'deadline', 'policy-denied', 'revised'])
      .describe('What ended it: a person, or `deadline`, `policy-denied`, `revised`.'),
    policyVersion: z.string().min(1).max(64),
    votes: z
      .array(castVote)
      .min(1)
      .max(50)
      .optional()
      .describe("The votes that released the call, the last one included; absent where one person's word is enough."),
    frozen: sealed.optional().describe('Present when approved, and only then.'),
  }),
});
