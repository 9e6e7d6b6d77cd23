import { baseConfig } from '@holdpoint/runtime';
import { z } from 'zod';

const milliseconds = (fallback: number, atLeast: number, what: string) =>
  z.coerce.number().int().min(atLeast).default(fallback).describe(`${what} in milliseconds, ${atLeast} or more`);

/** Every setting of the service is an environment variable; durations are milliseconds. */
export const taskboardConfig = baseConfig.extend({
  ENGINE_URL: z.url({ protocol: /^https?$/ }).describe('the http:// URL of the agent-engine'),
  /** How long an offer stands before it lapses (charter, section 7). */
  TASK_LEASE_MS: milliseconds(60_000, 100, 'how long an offer stands,'),
  /** How often due tasks are looked for; a new one is offered at once. */
  TASK_SCAN_MS: milliseconds(1_000, 10, 'how often due tasks are looked for,'),
  /** Wait after the first failed attempt; each further one waits three times as long. */
  TASK_RETRY_BASE_MS: milliseconds(10_000, 1, 'the wait after a first failed attempt,'),
  TASK_RETRY_MAX_MS: milliseconds(600_000, 1, 'the longest wait after a failed attempt,'),
});
export type TaskboardConfig = z.infer<typeof taskboardConfig>;

/** Injection token of the service's settings. */
export const CONFIG: unique symbol = Symbol('taskboard.config');
