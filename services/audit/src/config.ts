import { baseConfig } from '@holdpoint/runtime';
import { z } from 'zod';

/** Every setting of the service is an environment variable; durations are milliseconds. */
export const auditConfig = baseConfig.extend({
  /** One connection belongs to the writer for good. */
  DATABASE_POOL_MAX: z.coerce.number().int().min(2).max(200).default(10).describe('a number from 2 to 200'),
  AUDIT_BATCH_MAX: z.coerce.number().int().min(1).max(5000).default(500).describe('messages a batch, from 1 to 5000'),
  AUDIT_RETRY_MS: z.coerce
    .number()
    .int()
    .min(10)
    .default(2_000)
    .describe('milliseconds between two attempts to become the writer, 10 or more'),
});
export type AuditConfig = z.infer<typeof auditConfig>;

/** Injection token of the service's settings. */
export const CONFIG: unique symbol = Symbol('audit.config');
