import { userId } from '@holdpoint/contracts';
import { baseConfig } from '@holdpoint/runtime';
import { z } from 'zod';

/** Every setting of the service is an environment variable; durations are milliseconds. */
export const auditConfig = baseConfig.extend({
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
  /** Without it nothing is signed. */
  AUDIT_SIGNING_KEY_FILE: z.string().min(1).optional().describe('the path of the key that signs checkpoints'),
  AUDIT_PREVIOUS_KEY_FILE: z.string().min(1).optional().describe('the path of the key that signed them until now'),
  AUDIT_LOG_ORIGIN: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/)
    .optional()
    .describe("the log's name, such as example.org/holdpoint"),
  AUDIT_CHECKPOINT_MS: z.coerce
    .number()
    .int()
    .min(10)
    .max(3_600_000)
    .default(1_000)
    .describe('milliseconds between two checkpoints at least, from 10 to 3600000'),
  AUDIT_CHECKPOINT_FILE: z.string().min(1).optional().describe('the path of a file to append checkpoints to'),
  AUDIT_CHECKPOINT_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('an http:// URL to post checkpoints to'),
  AUDIT_AFTER_RESTORE: z
    .enum(['halt', 'catch-up'])
    .default('halt')
    .describe('halt, or catch-up for one start after a backup was restored'),
  /** May export the whole log; nobody unless set. */
  AUDIT_AUDITORS: z
    .string()
    .default('')
    .transform((text) => text.split(/\s+/).filter(Boolean))
    .pipe(z.array(userId))
    .describe('user ids separated by spaces'),
  AUDIT_WATCH_MS: z.coerce
    .number()
    .int()
    .min(50)
    .default(2_000)
    .describe('milliseconds between two looks at what is new in the log, 50 or more'),
  AUDIT_WATCH_OVERDUE_MS: z.coerce
    .number()
    .int()
    .min(1)
    .default(600_000)
    .describe('milliseconds until what stands still is overdue, 1 or more'),
  AUDIT_EXPORTS_MAX: z.coerce.number().int().min(1).max(100).default(4).describe('exports at once, from 1 to 100'),
});
export type AuditConfig = z.infer<typeof auditConfig>;

/** Injection token of the service's settings. */
export const CONFIG: unique symbol = Symbol('audit.config');
