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

/** Settings of all tools: add a tool's own here, and the tool below. */
export const toolConfig = z.object({
  ...mailConfig,
  ...fileRwConfig,
  ...databaseConfig,
  ...ordersConfig,
  ...telegramConfig,
  ...ftpConfig,
});

export function builtinTools(config: z.infer<typeof toolConfig>): Tool[] {
  const { DATABASE_TOOL_URL, ORDERS_URL, TELEGRAM_BOT_TOKEN, FTP_URL } = config;
  return [
    mailTool(config),
    fileRwTool(config),
    ...(DATABASE_TOOL_URL === undefined ? [] : [databaseTool({ ...config, DATABASE_TOOL_URL })]),
    ...(ORDERS_URL === undefined ? [] : [ordersTool({ ...config, ORDERS_URL })]),
    ...(TELEGRAM_BOT_TOKEN === undefined ? [] : [telegramTool({ ...config, TELEGRAM_BOT_TOKEN })]),
    ...(FTP_URL === undefined ? [] : [ftpTool({ ...config, FTP_URL })]),
  ];
}

/** Tools that exist only once they are configured: the setting that brings each into being. */
export const SETTING_OF: Readonly<Record<string, string>> = {
  Database: 'DATABASE_TOOL_URL',
  Orders: 'ORDERS_URL',
  Telegram: 'TELEGRAM_BOT_TOKEN',
  FTP: 'FTP_URL',
};

/** The actions of tools that rules may name before the tool is there: of those above, and of those in policy's own rules. */
export const UNCONFIGURED: Readonly<Record<string, readonly string[]>> = {
  Database: ['query', 'insert', 'upsert'],
  Orders: ['place', 'list_open'],
  Telegram: ['send_message'],
  FTP: ['list', 'download', 'upload', 'delete'],
};
