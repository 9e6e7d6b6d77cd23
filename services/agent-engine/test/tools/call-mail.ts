import { parseArguments } from '../../src/domain/arguments/parse.js';
import { mailTool } from '../../src/tools/mail/index.js';
import type { MailConfig } from '../../src/tools/mail/settings.js';
import { ToolRegistry } from '../../src/tools/registry.js';
import type { ToolContext } from '../../src/tools/tool.js';

const settings: MailConfig = {
  MAIL_SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'agent@example.test',
  MAIL_TIMEOUT_MS: 60_000,
};

export const mailOf = (own: Partial<MailConfig>) => mailTool({ ...settings, ...own });

/** Through the registry, as the engine does it: text in, outcome out. */
export async function callMail(own: Partial<MailConfig>, json: string, ctx: Partial<ToolContext> = {}) {
  const tool = mailOf(own);
  const resolved = new ToolRegistry([tool]).resolve(tool, parseArguments(json));
  if (!resolved.ok) return resolved;
  const whole = { callId: '01jcall', spaceId: 'acme', attempt: 1, signal: AbortSignal.timeout(20_000), ...ctx };
  return resolved.action.run(resolved.args, whole);
}

/** The list of mails, or what came in its place. */
export async function readInbox(own: Partial<MailConfig>, json: string, ctx: Partial<ToolContext> = {}) {
  const outcome = await callMail(own, json, ctx);
  return 'kind' in outcome && outcome.kind === 'done' ? (JSON.parse(outcome.result) as unknown[]) : outcome;
}
