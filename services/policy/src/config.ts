import { policyMode, userId } from '@holdpoint/contracts';
import { baseConfig } from '@holdpoint/runtime';
import { z } from 'zod';
import { BUILT_IN_RULES, EXPIRES_AFTER_SECONDS, RATE_LIMIT, type RuleSet } from './domain/rules.js';
import { readOperatorFile } from './operator-file.js';
import { rateLimit } from './operator-section.js';

/** Every setting of the service is an environment variable; what rules there are is said in holdpoint.yaml. */
export const policyConfig = baseConfig.extend({
  HOLDPOINT_CONFIG: z.string().min(1).optional().describe('the path of holdpoint.yaml'),
  /** Logs in as the role that reads for decisions and for other services, past the row policies that bind a person. */
  DECISIONS_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).describe("a postgres:// URL of policy's reader"),
  /** Unless somebody is named, spaces are created by nobody: whoever creates one decides what its agents may do. */
  SPACE_CREATORS: z
    .string()
    .default('')
    .transform((text) => text.split(/\s+/).filter(Boolean))
    .pipe(z.array(z.union([z.literal('*'), userId])))
    .describe('user ids separated by spaces, or *'),
  /** Ids of people who may halt everything; nobody unless set. */
  HOLDPOINT_OPERATORS: z
    .string()
    .default('')
    .transform((text) => text.split(/\s+/).filter(Boolean))
    .pipe(z.array(userId))
    .describe('user ids separated by spaces'),
  /**
   * How long the answer to the second question may be acted upon; a halt or a revoke is answered no sooner than that after
   * its commit. Equal in all instances.
   */
  CHECK_VALID_MS: z.coerce.number().int().min(100).max(10_000).default(1_000).describe('milliseconds, 100 to 10000'),
  /** Comes before the mode that holdpoint.yaml names. */
  POLICY_MODE: policyMode.optional().describe('enforce or log-only'),
  /** Comes before the rate limit of the file: `30/60` is 30 calls in 60 seconds. */
  POLICY_RATE_LIMIT: z
    .string()
    .regex(/^\d{1,6}\/\d{1,4}$/)
    .transform((text) => {
      const [calls, seconds] = text.split('/').map(Number);
      return { calls, seconds };
    })
    .pipe(rateLimit)
    .optional()
    .describe('calls and seconds, such as 30/60'),
});
export type PolicyConfig = z.infer<typeof policyConfig>;

/** The rules of this process, read once. @throws OperatorFileError */
export function loadRules(
  config: Pick<PolicyConfig, 'HOLDPOINT_CONFIG' | 'POLICY_MODE' | 'POLICY_RATE_LIMIT'>,
): RuleSet {
  const said = config.HOLDPOINT_CONFIG === undefined ? { rules: [] } : readOperatorFile(config.HOLDPOINT_CONFIG);
  return {
    builtin: BUILT_IN_RULES,
    operator: said.rules,
    fallback: said.default ?? null,
    mode: config.POLICY_MODE ?? said.mode ?? 'enforce',
    expiresAfterSeconds: said.expiresAfterSeconds ?? EXPIRES_AFTER_SECONDS,
    rateLimit: config.POLICY_RATE_LIMIT ?? said.rateLimit ?? RATE_LIMIT,
  };
}
