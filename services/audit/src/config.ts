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
  AUDIT_TAILS_MAX: z.coerce.number().int().min(1).max(10_000).default(100).describe('tails at once, from 1 to 10000'),
  AUDIT_TAIL_PATIENCE_MS: z.coerce
    .number()
    .int()
    .min(100)
    .default(30_000)
    .describe('milliseconds that a tail may leave events untaken, 100 or more'),
});
export type AuditConfig = z.infer<typeof auditConfig>;

/** Injection token of the service's settings. */
export const CONFIG: unique symbol = Symbol('audit.config');
