import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AgentEngineModule } from './agent-engine.module.js';
import { engineConfig, loadAgents } from './config.js';
import { checkRules } from './rules.js';
import { builtinTools, toolConfig, UNCONFIGURED } from './tools/catalogue.js';
import { ToolRegistry } from './tools/registry.js';

describe('rules of the operator', () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'rules-'));
  });
  afterAll(() => rmSync(home, { recursive: true }));

  const settings = {
    MAIL_SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'agent@example.test',
    MAIL_MAILDIR: '/nowhere',
    FILERW_ROOT: '/nowhere',
  };
  const registry = new ToolRegistry(builtinTools(toolConfig.parse(settings)));
  const check = (rule: string) => {
    const path = join(home, 'holdpoint.yaml');
    const agents = 'agents:\n  assistant: { space: acme, model: openai/m, tools: [] }\n';
    writeFileSync(path, `${agents}policy:\n  rules:\n    - ${rule}\n`);
    return checkRules(path, loadAgents(path), registry);
  };

  it.each([
    [
      '{ tool: Maill, verdict: deny }',
      /holdpoint\.yaml:5: policy\.rules\[0\]\.tool: there is no tool "Maill"; known: Mail, FileRW/,
    ],
    ['{ tool: mail, server: builtin, verdict: deny }', /there is no tool "mail"/],
    ['{ tool: constructor, verdict: deny }', /there is no tool "constructor"/],
    [
      '{ tool: Mail, action: sned, verdict: deny }',
      /:5: .*\.action: there is no action "sned" of Mail; known: send, read_inbox/,
    ],
    [
      '{ tool: Database, action: delete, verdict: deny }',
      /no action "delete" of Database; known: query, insert, upsert/,
    ],
    [
      '{ tool: Mail, agent: asistant, verdict: deny }',
      /:5: .*\.agent: there is no agent "asistant"; declared: assistant/,
    ],
  ])('%s is refused in one line', (rule, message) => {
    expect(() => check(rule)).toThrow(message);
    expect(() => check(rule)).toThrow(/^[^\n]*$/);
  });

  it('a key on a line of its own is named by that line', () => {
    expect(() => check('tool: Mail\n      verdict: deny\n      action: sned')).toThrow(/holdpoint\.yaml:7: /);
  });

  it('keeps the engine from starting', () => {
    const path = join(home, 'whole.yaml');
    const agents = 'agents:\n  assistant: { space: acme, model: openai/m, tools: [Mail] }\n';
    writeFileSync(path, `${agents}policy:\n  rules:\n    - { tool: Maill, verdict: deny }\n`);
    const config = engineConfig.parse({
      ...settings,
      DATABASE_URL: 'postgres://127.0.0.1:1/holdpoint',
      NATS_URL: 'nats://127.0.0.1:1',
      NATS_USER: 'agent-engine',
      NATS_PASSWORD: 'a-password-of-no-bus',
      PORT: '0',
      HOLDPOINT_IDENTITY_FILE: join(home, 'identities.json'),
      HOLDPOINT_SERVICE_TOKEN: '0123456789abcdef0123456789abcdef',
      HOLDPOINT_MASTER_KEY_FILE: join(home, 'master.key'),
      HOLDPOINT_CONFIG: path,
      POLICY_URL: 'http://127.0.0.1:1',
      OPENAI_API_KEY: 'a-key-of-no-endpoint',
    });
    expect(() => AgentEngineModule.forRoot(config)).toThrow(/whole\.yaml:5: .*there is no tool "Maill"/);
  });

  it.each([
    '{ tool: Mail, action: send, agent: assistant, verdict: deny }',
    '{ tool: Database, action: insert, verdict: deny }',
    '{ tool: Telegram, action: send_message, verdict: deny }',
    '{ tool: FTP, verdict: deny }',
    '{ tool: delete_repo, server: github, action: any, verdict: deny }',
  ])('%s is taken', (rule) => {
    expect(() => check(rule)).not.toThrow();
  });

  it('what is written in no form of a rule is left to policy, which refuses it', () => {
    expect(() => check('deny')).not.toThrow();
    expect(() => check('{ verdict: deny }')).not.toThrow();
  });

  it('a tool that is not configured has the actions that it would have', () => {
    const more = { DATABASE_TOOL_URL: 'postgres://127.0.0.1:1/shop', FTP_URL: 'ftp://127.0.0.1:1' };
    const tools = builtinTools(toolConfig.parse({ ...settings, ...more }));
    for (const name of ['Database', 'FTP'])
      expect(tools.find((t) => t.name === name)?.actions.map((a) => a.name)).toEqual(UNCONFIGURED[name]);
  });

  it('a field of an agent that there is not is named, with those that there are', () => {
    const path = join(home, 'misspelt.yaml');
    writeFileSync(path, 'agents:\n  a:\n    space: acme\n    model: openai/x\n    tool: [Mail]\n');
    expect(() => loadAgents(path)).toThrow(
      /misspelt\.yaml:5: agents\.a: Unrecognized key: "tool"; allowed: space, .*tools/,
    );
  });

  it('a file that is no YAML is refused in one line', () => {
    const path = join(home, 'broken.yaml');
    writeFileSync(path, 'agents:\n  a: [\n');
    expect(() => loadAgents(path)).toThrow(/^[^\n]*broken\.yaml:\d+: [^\n]*$/);
  });
});
