import { readFileSync } from 'node:fs';
import { credentialsOf, type KnownSecret, keepOutOfLogs, MASK, SHORTEST_SECRET } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import type { EngineConfig } from '../config.js';
import type { Tool } from '../tools/tool.js';
import { loadSecrets } from './declared.js';
import { Secrets } from './secrets.js';

/**
 * The configured secrets, and the engine's own credentials. From here on none of them is logged.
 * @throws when holdpoint.yaml names one that cannot be used
 */
export function secretsOf(config: EngineConfig, tools: readonly Tool[]): Secrets {
  const declared = loadSecrets(config.HOLDPOINT_CONFIG, tools, process.env);
  const { known, unsearchable } = credentialsOf(config);
  const secrets = new Secrets(declared, [...known, ...masterKey(config.HOLDPOINT_MASTER_KEY_FILE)]);
  keepOutOfLogs(secrets);
  if (unsearchable.length > 0)
    new Logger(Secrets.name).warn(
      `too short to be kept out of texts, or the same as the user's name: the credentials in ${unsearchable.join(', ')}. Set longer ones`,
    );
  return secrets;
}

/** None where the file cannot be read: whoever needs the key says so better. */
function masterKey(path: string): KnownSecret[] {
  let value: string;
  try {
    value = readFileSync(path, 'utf8').trim();
  } catch {
    return [];
  }
  const hex = Buffer.from(value, 'base64').toString('hex');
  const spellings = [value, hex].filter((v) => v.length >= SHORTEST_SECRET);
  return spellings.map((v) => ({ name: 'HOLDPOINT_MASTER_KEY', value: v, label: MASK }));
}
