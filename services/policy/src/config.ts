import { policyMode } from '@holdpoint/contracts';
import { baseConfig } from '@holdpoint/runtime';
import { z } from 'zod';
import { BUILT_IN_RULES, EXPIRES_AFTER_SECONDS, RATE_LIMIT, type RuleSet } from './domain/rules.js';
import { readOperatorFile } from './operator-file.js';

/** Every setting of the service is an environment variable; what rules there are is said in holdpoint.yaml. */
export const policyConfig = baseConfig.extend({
  HOLDPOINT_CONFIG: z.string().min(1).optional().describe('the path of holdpoint.yaml'),
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
