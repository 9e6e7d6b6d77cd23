import { z } from 'zod';
import { callRef, verdict } from '../call.js';
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
  data: z.strictObject({
    call: callRef,
    verdict,
    /** Stable code, such as `rule`, `destructive-not-allowed`, `halted`. */
    reason: z.string().min(1).max(128),
    /** The rule that matched, as written, with its origin: `builtin: Mail.send`. */
    rule: z.string().min(1).max(300),
    /** Digest of all that the decision was made from. */
    policyVersion: z.string().min(1).max(64),
    mode: policyMode,
    /** In `log-only`, the verdict that `enforce` would have given. */
    wouldBe: verdict.optional(),
    flags: z.array(z.string().max(64)).max(32),
    /** Our own words to the model; never text of a stranger. */
    reminder: z.string().max(500).optional(),
    /** How long a held call may wait for a person, in seconds. */
    expiresAfterSeconds: z.int().min(1).optional(),
    /** What has to be met for a release, all of it; absent: one owner or admin. */
    requirements: z.array(approvalRequirement).min(1).max(8).optional(),
    /** Stream sequence of the proposal that was judged. */
    proposalSeq: z.int().min(1),
  }),
});
