import { policyMode, userId } from '@holdpoint/contracts';
import { baseConfig } from '@holdpoint/runtime';
import { z } from 'zod';
import { BUILT_IN_RULES, EXPIRES_AFTER_SECONDS, RATE_LIMIT, type RuleSet } from './domain/rules.js';
import { readOperatorFile } from './operator-file.js';

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
  /** How long an answer of the check may be acted upon, so also how long a halt or a revoke waits before it is answered. */
  CHECK_VALID_MS: z.coerce.number().int().min(50).max(10_000).default(1_000).describe('milliseconds'),
  /** Comes before the mode that holdpoint.yaml names. */
  POLICY_MODE: policyMode.optional().describe('enforce or log-only'),
});
export type PolicyConfig = z.infer<typeof policyConfig>;

/** The rules of this process, read once. @throws OperatorFileError */
export function loadRules(config: Pick<PolicyConfig, 'HOLDPOINT_CONFIG' | 'POLICY_MODE'>): RuleSet {
  const said = config.HOLDPOINT_CONFIG === undefined ? { rules: [] } : readOperatorFile(config.HOLDPOINT_CONFIG);
  return {
    builtin: BUILT_IN_RULES,
    operator: said.rules,
    fallback: said.default ?? null,
    mode: config.POLICY_MODE ?? said.mode ?? 'enforce',
    expiresAfterSeconds: said.expiresAfterSeconds ?? EXPIRES_AFTER_SECONDS,
    rateLimit: RATE_LIMIT,
  };
}
