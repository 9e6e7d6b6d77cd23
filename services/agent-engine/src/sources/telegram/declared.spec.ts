import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type EngineConfig, loadAgents } from '../../config.js';
import { telegramProviders } from './index.js';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'chats-'));
});
afterAll(() => rmSync(home, { recursive: true }));

const load = (...chats: string[]) => {
  const path = join(home, 'holdpoint.yaml');
  const agents = chats.map(
    (c, i) => `  a${i}: { space: acme, model: openai/m, tools: [], telegram: { chats: ${c} } }\n`,
  );
  writeFileSync(path, `agents:\n${agents.join('')}`);
  return loadAgents(path);
};

test('a chat is named by its id and talks with one agent, or the line is named', () => {
  expect(load('{ "-1001234567890": ada, 5: ben }').get('a0')?.telegram).toEqual({
    chats: { '-1001234567890': 'ada', '5': 'ben' },
  });
  expect(() => load('{ "5": ada }', '{ 5: ben }')).toThrow(/yaml:3: agents\.a1\.telegram\.chats\.5: .*a0 already/);
  for (const wrong of ['{ "@acme": ada }', '{ "1.5": ada }', '{ 9007199254740993: ada }', '{ "5": "" }', '[5]'])
    expect(() => load(wrong)).toThrow(/yaml:2: agents\.a0\.telegram/);
});

test('an agent with chats needs a bot; without chats nobody listens', () => {
  const config = { HOLDPOINT_CONFIG: 'holdpoint.yaml', HOLDPOINT_IDENTITY_FILE: 'identity.json' } as EngineConfig;
  expect(() => telegramProviders(config, load('{ "5": ada }'))).toThrow(
    'agents.a0.telegram: there is no bot unless TELEGRAM_BOT_TOKEN',
  );
  expect(telegramProviders(config, load('{}'))).toEqual([]);
});
