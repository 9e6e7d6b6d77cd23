import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadAgents } from '../../src/config.js';
import { agentModels } from '../../src/models/agent-model.js';
import { Prices } from '../../src/models/prices.js';
import { modelConfig } from '../../src/models/settings.js';

describe('a declared model', () => {
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'declared-'));
    await writeFile(join(home, 'script.yaml'), 'scripts: []\n');
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  const file = async (lines: string) => {
    const path = join(home, 'holdpoint.yaml');
    await writeFile(path, `agents:\n  helper:\n    space: acme\n    tools: []\n${lines}`);
    return path;
  };
  const start = async (lines: string, env: Record<string, string> = {}) => {
    const config = modelConfig.parse(env);
    const agents = loadAgents(await file(lines), config.HOLDPOINT_MODEL);
    return agentModels(agents.values(), config).get('helper')?.name;
  };
  const openai = '    model: openai/qwen3:8b\n';
  const scripted = '    model: scripted\n    script: script.yaml\n';

  it.each<[string, string, Record<string, string>, string]>([
    ['a local endpoint needs no key', openai, { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' }, 'openai/qwen3:8b'],
    ['OpenAI itself needs a key alone', '    model: openai/gpt-5\n', { OPENAI_API_KEY: 'k' }, 'openai/gpt-5'],
    ['ids with a slash', '    model: openai/meta/llama\n', { OPENAI_API_KEY: 'k' }, 'openai/meta/llama'],
    ['Anthropic', '    model: anthropic/claude-x\n', { ANTHROPIC_API_KEY: 'k' }, 'anthropic/claude-x'],
    ['the script', scripted, {}, 'scripted'],
    ['HOLDPOINT_MODEL comes first', scripted, { HOLDPOINT_MODEL: 'openai/a', OPENAI_API_KEY: 'k' }, 'openai/a'],
  ])('%s', async (_what, lines, env, name) => {
    expect(await start(lines, env)).toBe(name);
  });

  it.each<[string, string, Record<string, string>, RegExp]>([
    ['no endpoint and no key', openai, {}, /agent helper uses the model openai\/qwen3:8b: set OPENAI_BASE_URL/],
    ['no key', '    model: anthropic/c\n', { OPENAI_API_KEY: 'k' }, /agent helper .*: set ANTHROPIC_API_KEY/],
    ['scripted without a script', '    model: scripted\n', {}, /holdpoint\.yaml:3: agents\.helper\.script/],
    ['an unknown kind', '    model: gpt-5\n', {}, /holdpoint\.yaml:5: agents\.helper\.model: must be scripted, openai/],
    ['overridden by a script it has not', openai, { HOLDPOINT_MODEL: 'scripted' }, /agent helper .*no script/],
    ['a base URL with a password', openai, { OPENAI_BASE_URL: 'http://a:b@host/v1' }, /OPENAI_BASE_URL/],
  ])('is refused at start: %s', async (_what, lines, env, message) => {
    await expect(start(lines, env)).rejects.toThrow(message);
  });

  it('a script is read whole at start, and what is wrong in it is named', async () => {
    const bad = async (text: string) => {
      await writeFile(join(home, 'bad.yaml'), text);
      return start('    model: scripted\n    script: bad.yaml\n');
    };
    await expect(bad('scripts:\n  - { when: fine, turns: [] }\n  - { when: "(", turns: [] }\n')).rejects.toThrow(
      /bad\.yaml: scripts\.1\.when: "\(" is not a regular expression$/,
    );
    await expect(bad('scripts: [\n')).rejects.toThrow(/^[^\n]*bad\.yaml: [^\n]*$/);
  });

  it('prices of the operator come before the list; a wrong line is named', async () => {
    const own = join(home, 'prices.yaml');
    const line = (input: string) =>
      `asOf: 2026-11-30\nmodels:\n  openai/own: { input: ${input}, cached: 0, output: 0.000001 }\n`;
    await writeFile(own, line('0.1'));
    const prices = new Prices(own);
    expect(prices.of('openai/own')).toEqual({ input: 100_000n, cached: 0n, output: 1n });
    expect(prices.of('openai/gpt-5')).toBeDefined();
    for (const wrong of ['0.0000001', '-1', '1e-7', 'cheap']) {
      await writeFile(own, line(wrong));
      expect(() => new Prices(own)).toThrow(/prices\.yaml: models\.openai\/own\.input/);
    }
  });
});
