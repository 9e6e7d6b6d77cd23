import { z } from 'zod';
import { telegramConfig } from '../telegram/settings.js';
import { databaseConfig, databaseTool } from './database/index.js';
import { fileRwConfig, fileRwTool } from './file-rw/index.js';
import { ftpConfig, ftpTool } from './ftp/index.js';
import { mailTool } from './mail/index.js';
import { mailConfig } from './mail/settings.js';
import { ordersConfig, ordersTool } from './orders/index.js';
import { telegramTool } from './telegram/index.js';
import type { Tool } from './tool.js';

/** Settings of all tools: add a tool's own here, and the tool to `configurable` below. */
export const toolConfig = z.object({
  ...mailConfig,
  ...fileRwConfig,
  ...databaseConfig,
  ...ordersConfig,
  ...telegramConfig,
  ...ftpConfig,
});

type Settings = z.infer<typeof toolConfig>;
type With<S extends keyof Settings> = Settings & { [K in S]-?: NonNullable<Settings[K]> };

/** A tool that exists only once `setting` is set. Rules may name it, and its actions, before that. */
function onceSet<S extends keyof Settings>(
  setting: S,
  name: string,
  actions: readonly string[],
  tool: (config: With<S>) => Tool,
) {
  const of = (config: Settings): Tool[] => (config[setting] === undefined ? [] : [tool(config as With<S>)]);
  return { setting, name, actions, of };
}

const configurable = [
  onceSet('DATABASE_TOOL_URL', 'Database', ['query', 'insert', 'upsert'], databaseTool),
  onceSet('ORDERS_URL', 'Orders', ['place', 'list_open'], ordersTool),
  onceSet('TELEGRAM_BOT_TOKEN', 'Telegram', ['send_message'], telegramTool),
  onceSet('FTP_URL', 'FTP', ['list', 'download', 'upload', 'delete'], ftpTool),
];

export const builtinTools = (config: Settings): Tool[] => [
  mailTool(config),
  fileRwTool(config),
  ...configurable.flatMap((t) => t.of(config)),
];

/** Tools that exist only once they are configured: the setting that brings each into being. */
export const SETTING_OF: Readonly<Record<string, string>> = Object.fromEntries(
  configurable.map((t) => [t.name, t.setting]),
);

/** The actions of tools that rules may name before the tool is there: of those above, and of those in policy's own rules. */
export const UNCONFIGURED: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  configurable.map((t) => [t.name, t.actions]),
);
