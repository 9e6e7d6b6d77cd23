import { z } from 'zod';
import { callRef, hint, verdict } from '../call.js';
import { approvalRequirement } from '../requirement.js';
import { define } from './define.js';

export const policyMode = z.enum(['enforce', 'log-only']);
export type PolicyMode = z.infer<typeof policyMode>;

export const policyDecided = define({
  type: 'policy.decided',
  version: 1,
  publisher: 'policy',
  entity: 'call',
  once: true,
  description: 'The verdict on a proposal. No stored verdict, no execution.',
  when: 'For each proposal, unless it was abandoned first.',
  data: z.strictObject({
    call: callRef,
    verdict,
    reason: z.string().min(1).max(128).describe('Stable code, such as `rule`, `destructive-not-allowed`, `halted`.'),
    rule: z
      .string()
      .min(1)
      .max(300)
      .describe('The rule that matched, as written, with its origin: `builtin: Mail.send`.'),
    policyVersion: z.string().min(1).max(64).describe('Digest of all that the decision was made from.'),
    mode: policyMode,
    wouldBe: verdict.optional().describe('In `log-only`, the verdict that `enforce` would have given.'),
    flags: z.array(z.string().max(64)).max(32),
    reminder: z.string().max(500).optional().describe('Our own words to the model; never text of a stranger.'),
    expiresAfterSeconds: z.int().min(1).optional().describe('How long a held call may wait for a person, in seconds.'),
    requirements: z
      .array(approvalRequirement)
      .min(1)
      .max(8)
      .optional()
      .describe('What has to be met for a release, all of it; absent: one owner or admin.'),
    believed: z
      .strictObject({ hint, scope: z.enum(['user', 'admin']), origin: z.enum(['builtin', 'foreign']) })
      .optional()
      .describe('What policy took the tool for: of what the proposal states and what was announced, the stricter.'),
    proposalSeq: z.int().min(1).describe('Stream sequence of the proposal that was judged.'),
  }),
});
