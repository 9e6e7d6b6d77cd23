import { z } from 'zod';
import { fileRwConfig, fileRwTool } from './file-rw/index.js';
import { mailConfig, mailTool } from './mail/index.js';
import type { Tool } from './tool.js';

/** Settings of all tools: add a tool's own here, and the tool below. */
export const toolConfig = z.object({ ...mailConfig, ...fileRwConfig });

export const builtinTools = (config: z.infer<typeof toolConfig>): Tool[] => [mailTool(config), fileRwTool(config)];
