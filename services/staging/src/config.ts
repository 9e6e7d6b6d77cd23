import { baseConfig } from '@holdpoint/runtime';
import { z } from 'zod';

const milliseconds = (fallback: number) =>
  z.coerce.number().int().min(1).max(3_600_000).default(fallback).describe('a number of milliseconds, 1 to 3600000');

/** Every setting of the service is an environment variable. */
export const stagingConfig = baseConfig.extend({
  HOLDPOINT_MASTER_KEY_FILE: z.string().min(1).describe('the path of the master key file'),
  POLICY_URL: z.url({ protocol: /^https?$/ }).describe('the http:// URL of the policy service'),
  /** How long a decision waits for policy's answer. */
  POLICY_TIMEOUT_MS: milliseconds(3_000),
  EXPIRY_SWEEP_MS: milliseconds(1_000),
  /** For a verdict that names no time of its own; three days. */
  EXPIRES_AFTER_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(365 * 86_400)
    .default(3 * 86_400)
    .describe('a number of seconds, at most 365 days'),
});
export type StagingConfig = z.infer<typeof stagingConfig>;

/** Injection token of `EXPIRES_AFTER_SECONDS`. */
export const DEFAULT_EXPIRY = Symbol('staging.default-expiry');
