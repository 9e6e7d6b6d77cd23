import { z } from 'zod';

/** The environment does not fit. The message, one line, names every wrong variable and what it must be, and shows no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** Names of the variables at fault. */
  readonly variables: readonly string[];

  constructor(wrong: ReadonlyMap<string, string>) {
    super(`the configuration is wrong: ${[...wrong].map(([v, must]) => `${v} ${must}`).join('; ')}`);
    this.variables = [...wrong.keys()];
  }
}

const port = z.coerce.number().int().min(0).max(65535).describe('a port number from 0 to 65535');

/** What every service reads from its environment. Extend it, and `describe` each variable: the text says what it must be. */
export const baseConfig = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).describe('a postgres:// URL'),
  NATS_URL: z.url({ protocol: /^(nats|tls|wss?)$/ }).describe('a nats:// URL'),
  NATS_USER: z.string().min(1).describe("the service's user on the bus"),
  NATS_PASSWORD: z.string().min(1).describe("the password of the service's user on the bus"),
  HOST: z.string().min(1).default('127.0.0.1').describe('an address to listen on'),
  PORT: port,
  HOLDPOINT_IDENTITY_FILE: z.string().min(1).describe('the path of the identity file'),
  HOLDPOINT_SERVICE_TOKEN: z.string().min(16).describe('the bearer token of the service, 16 characters or more'),
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("the URL of the issuer of people's tokens"),
  OIDC_AUDIENCE: z.string().min(1).optional().describe("the audience that people's tokens are for"),
  OIDC_JWKS_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("the URL of the issuer's keys"),
  /** Lets a development issuer in. */
  HOLDPOINT_DEV: z.enum(['0', '1']).default('0').describe('0, or 1 for a trial'),
  POLICY_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('the http:// URL of the policy service'),
  HOLDPOINT_MASTER_KEY_FILE: z.string().min(1).optional().describe('the path of the master key file'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug'])
    .default('info')
    .describe('one of fatal, error, warn, info, debug'),
  DATABASE_POOL_MAX: z.coerce.number().int().min(1).max(200).default(10).describe('a number from 1 to 200'),
});
export type BaseConfig = z.infer<typeof baseConfig>;

/**
 * Reads a service's settings once, at start. A variable that is set but empty counts as absent.
 * @throws ConfigError
 */
export function loadConfig<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv = process.env): z.infer<S> {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = schema.safeParse(present);
  if (parsed.success) return parsed.data;
  const wrong = new Map<string, string>();
  for (const issue of parsed.error.issues) {
    const variable = String(issue.path[0] ?? 'environment');
    const must = (schema.shape[variable] as z.ZodType | undefined)?.description;
    const state = variable in present ? 'is not valid' : 'is not set';
    if (!wrong.has(variable))
      wrong.set(variable, `${state}: ${must === undefined ? issue.message : `it must be ${must}`}`);
  }
  throw new ConfigError(wrong);
}
