import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { name, token } from '@holdpoint/contracts';
import { baseConfig, strictFields } from '@holdpoint/runtime';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { languages } from './domain/words.js';
import { modelConfig, modelName } from './models/settings.js';
import { toolConfig } from './tools/catalogue.js';
import { ftpContradiction } from './tools/ftp/index.js';
import { wrongTogether } from './tools/mail/settings.js';

/** The database that a URL names, for a first look; the tool itself also recognises Holdpoint's tables when it connects. */
function databaseOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  const local = ['', 'localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return [local ? 'localhost' : hostname, port || '5432', decodeURIComponent(pathname)].join(' ');
}

const milliseconds = (fallback: number) =>
  z.coerce
    .number()
    .int()
    .min(1)
    .max(2 ** 31 - 1)
    .default(fallback)
    .describe('a number of milliseconds, 1 or more');

const settings = baseConfig.extend({
  HOLDPOINT_CONFIG: z.string().min(1).describe('the path of holdpoint.yaml'),
  POLICY_URL: z.url().describe('the http:// URL of the policy service'),
  HOLDPOINT_MASTER_KEY_FILE: z.string().min(1).describe('the path of the master key file'),
  /** How long a proposal waits for its verdict before it is given up (charter, section 6). */
  VERDICT_TIMEOUT_MS: milliseconds(10_000),
  /** How long a held call's answer waits for its number. */
  STAGED_TIMEOUT_MS: milliseconds(2_000),
  /** How long a claim may wait before its effect begins; the tool's own time-out comes on top. */
  EXECUTION_LEASE_MS: milliseconds(15_000),
  /** How often a call is tried at most, where its class allows a second attempt. */
  EXECUTION_ATTEMPTS: z.coerce.number().int().min(1).max(20).default(5).describe('how many attempts, 1 to 20'),
  /** The wait after a first attempt without an answer; each further one waits three times as long. */
  ATTEMPT_BACKOFF_MS: milliseconds(2_000),
  /** How long an approval may wait for its execution. */
  APPROVAL_LAPSE_MS: milliseconds(3_600_000),
  /** A run whose engine has not been heard of for so long is interrupted. */
  RUN_LOST_AFTER_MS: milliseconds(30_000),
  /** Content of a conversation in which nothing has run for so long is erased: three years. */
  CONTENT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(36_500)
    .default(1_096)
    .describe('a number of days, 1 or more'),
  RETENTION_SWEEP_MS: milliseconds(3_600_000),
  MAX_RUNNING: z.coerce.number().int().min(1).max(1000).default(32).describe('how many runs at once, 1 to 1000'),
  ...modelConfig.shape,
  ...toolConfig.shape,
});
/** Every setting of the service is an environment variable; durations are milliseconds. */
export const engineConfig = settings.superRefine((c, issues) => {
  for (const variable of ['DATABASE_TOOL_URL', 'DATABASE_TOOL_READ_URL'] as const)
    if (c[variable] !== undefined && databaseOf(c[variable]) === databaseOf(c.DATABASE_URL))
      issues.addIssue({ code: 'custom', path: [variable], message: "is Holdpoint's own database" });
  for (const [variable, message] of wrongTogether(c)) issues.addIssue({ code: 'custom', path: [variable], message });
  const ftp = ftpContradiction(c);
  if (ftp) issues.addIssue({ code: 'custom', path: [ftp.variable], message: ftp.message });
});
export type EngineConfig = z.infer<typeof engineConfig>;

/** Telegram's own ids have 52 bits, so that also an unquoted key of YAML is read without loss. */
const chatId = z
  .string()
  .refine(
    (id) => /^-?[1-9]\d{0,15}$/.test(id) && Number.isSafeInteger(Number(id)),
    'a chat is named by its id, an integer in plain digits, such as "123456789" or "-1001234567890"',
  );

const agentDeclaration = strictFields({
  space: token,
  /** `scripted` needs no key; it plays the turns of `script`. */
  model: modelName,
  script: z.string().min(1).optional(),
  system: z.string().max(32_000).default(''),
  tools: z.array(name).max(64),
  maxSteps: z.int().min(1).max(200).default(24),
  /** A run ends after the round that takes it over this many tokens, prompts and answers together. */
  maxTokens: z.int().min(1).optional(),
  /** A prompt beyond this size has its beginning replaced by a summary. Has to lie well below the model's window. */
  compactAfterTokens: z.int().min(1).default(100_000),
  /** In which the model is told about refusals, holds and outcomes. */
  language: z.enum(languages).default('en'),
  /** Chats of the bot that talk with this agent, by their ids: on whose behalf whoever writes there speaks. */
  telegram: z.strictObject({ chats: z.record(chatId, token) }).optional(),
}).refine((a) => a.model !== 'scripted' || a.script !== undefined, {
  path: ['script'],
  error: 'the model scripted needs the path of its script',
});
export type AgentDeclaration = z.infer<typeof agentDeclaration> & { name: string };

const declarations = z.object({ agents: z.record(token, agentDeclaration) }).superRefine(({ agents }, issues) => {
  const taken = new Map<string, string>();
  for (const [agent, { telegram }] of Object.entries(agents))
    for (const chat of Object.keys(telegram?.chats ?? {})) {
      const other = taken.get(chat);
      taken.set(chat, agent);
      if (other !== undefined)
        issues.addIssue({
          code: 'custom',
          path: ['agents', agent, 'telegram', 'chats', chat],
          message: `this chat talks with ${other} already; one chat has one agent`,
        });
    }
});

/**
 * @param model every agent's, in place of the declared one
 * @throws Error naming file, line and field: a file with one wrong agent is refused whole.
 */
export function loadAgents(path: string, model?: string): Map<string, AgentDeclaration> {
  const lines = new LineCounter();
  const doc = parseDocument(readFileSync(path, 'utf8'), { lineCounter: lines, uniqueKeys: true });
  const at = (offset: number) => `${path}:${lines.linePos(offset).line}`;
  const broken = doc.errors[0];
  if (broken) throw new Error(`${at(broken.pos[0])}: ${broken.message.split('\n')[0]}`);
  const parsed = declarations.safeParse(doc.toJS());
  if (!parsed.success) {
    // a name that there is not is why another one is missing
    const { issues } = parsed.error;
    const issue = issues.find((i) => i.code === 'unrecognized_keys') ?? issues[0];
    const where = issue?.path ?? [];
    const written = issue?.code === 'unrecognized_keys' ? [...where, ...issue.keys.slice(0, 1)] : where;
    const node = [...written.keys()]
      .map((i) => doc.getIn(written.slice(0, written.length - i) as (string | number)[], true))
      .find((n) => n != null) as { range?: [number, number, number] } | undefined;
    throw new Error(`${at(node?.range?.[0] ?? 0)}: ${where.join('.')}: ${issue?.message}`);
  }
  const home = dirname(resolve(path));
  return new Map(
    Object.entries(parsed.data.agents).map(([agent, a]) => [
      agent,
      {
        ...a,
        name: agent,
        model: model ?? a.model,
        ...(a.script === undefined ? {} : { script: resolve(home, a.script) }),
      },
    ]),
  );
}
