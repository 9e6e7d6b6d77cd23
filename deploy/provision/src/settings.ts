import { z } from 'zod';
import { parseConsumers } from './foreign-consumers.js';
import type { Installation } from './installation.js';
import { parseSecrets } from './installation-secrets.js';

/** What the provisioning program is told by its environment. */
export const provisionConfig = z.object({
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .describe('a postgres:// URL of the administrator, naming the database that it owns'),
  NATS_URL: z.url({ protocol: /^(nats|tls)$/ }).describe('a nats:// URL'),
  HOLDPOINT_SECRETS_FILE: z.string().min(1).describe('the path of the secrets.json that secrets.main.js wrote'),
  /** Where an operator's own consumers are declared. */
  HOLDPOINT_CONFIG: z.string().min(1).optional().describe('the path of holdpoint.yaml'),
  STREAM_REPLICAS: z.coerce
    .number()
    .refine((n) => [1, 3, 5].includes(n))
    .describe('how many servers keep each message: 3, or 5, or 1 for a trial'),
  STREAM_MAX_BYTES: z.coerce.number().int().min(1_048_576).optional().describe('a number of bytes, 1048576 or more'),
  PROVISION_WAIT_SECONDS: z.coerce
    .number()
    .int()
    .min(0)
    .max(3_600)
    .default(300)
    .describe('a number of seconds, at most 3600'),
});

/** The environment does not fit. Names every wrong variable and what it must be, and shows no value. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** @throws SettingsError, ConsumersError, SecretsIncomplete, or what hindered `read` */
export function provisionSettings(env: NodeJS.ProcessEnv, read: (path: string) => string, root: string): Installation {
  const c = readEnvironment(provisionConfig, env);
  const consumers =
    c.HOLDPOINT_CONFIG === undefined ? [] : parseConsumers(read(c.HOLDPOINT_CONFIG), c.HOLDPOINT_CONFIG);
  return {
    databaseUrl: c.DATABASE_URL,
    natsUrl: c.NATS_URL,
    secrets: parseSecrets(
      read(c.HOLDPOINT_SECRETS_FILE),
      consumers.map((consumer) => consumer.name),
    ),
    consumers,
    replicas: c.STREAM_REPLICAS,
    ...(c.STREAM_MAX_BYTES === undefined ? {} : { maxBytes: c.STREAM_MAX_BYTES }),
    root,
    waitMs: c.PROVISION_WAIT_SECONDS * 1_000,
  };
}

/** A variable that is set but empty counts as absent. @throws SettingsError */
export function readEnvironment<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv): z.infer<S> {
  const parsed = schema.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')));
  if (parsed.success) return parsed.data;
  const wrong = new Set(parsed.error.issues.map((i) => String(i.path[0])));
  throw new SettingsError(
    [...wrong].map((v) => `${v} must be ${(schema.shape[v] as z.ZodType | undefined)?.description}`).join('; '),
  );
}
