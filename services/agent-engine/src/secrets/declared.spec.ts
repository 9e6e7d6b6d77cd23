import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ToolRegistry } from '../tools/registry.js';
import { defineAction, done, type Tool } from '../tools/tool.js';
import { loadSecrets } from './declared.js';

const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

const tool = (secretFields: ('text' | 'count')[]): Tool => ({
  name: 'Vault',
  description: '',
  actions: [
    defineAction({
      name: 'put',
      description: '',
      hint: 'write',
      scope: 'user',
      executionClass: 'at-most-once',
      schema: z.strictObject({ action: z.literal('put'), text: z.string(), count: z.number() }),
      timeoutMs: 1,
      secretFields,
      run: async () => done(''),
    }),
  ],
});
const VALUE = 'a value of 22 letters';
const load = (entry: string) => {
  const path = join(folder, 'holdpoint.yaml');
  writeFileSync(path, `agents: {}\nsecrets:\n  ${entry}\n`);
  return loadSecrets(path, [tool(['text'])], { PIN: VALUE, SHORT: 'seven77', DULL: 'aaaaaaaaaaaa', EMPTY: '' });
};

describe('secrets in holdpoint.yaml', () => {
  it('are read from variables and files, with the places where they are allowed', () => {
    writeFileSync(join(folder, 'pin'), 'two\nlines here\r\n');
    const place = { tool: 'Vault', action: 'put', field: 'text' };
    expect(load(`PIN: { env: PIN, allow: [{ tool: Vault, action: put, field: text }] }`)).toEqual([
      { name: 'PIN', value: VALUE, allow: [place] },
    ]);
    expect(load('FILED: { file: pin }')).toEqual([{ name: 'FILED', value: 'two\nlines here', allow: [] }]);
    writeFileSync(join(folder, 'none.yaml'), 'agents: {}\n');
    expect(loadSecrets(join(folder, 'none.yaml'), [], {})).toEqual([]);
  });

  it.each([
    ['pin: { env: PIN }', /yaml:3: secrets\.pin: must begin with a capital letter/],
    ['PIN: { env: PIN, file: pin }', /yaml:3: secrets\.PIN: must have either env/],
    ['PIN: { value: abcdefgh }', /yaml:3: secrets\.PIN: must have either env/],
    ['PIN: { env: MISSING }', /the variable MISSING is not there or is empty/],
    ['PIN: { env: EMPTY }', /the variable EMPTY is not there or is empty/],
    ['PIN: { file: missing }', /the file missing is not there or is empty/],
    ['PIN: { env: SHORT }', /the variable SHORT holds less than 8 characters/],
    ['PIN: { env: DULL }', /less than 4 different ones/],
    [
      'PIN:\n    env: PIN\n    allow:\n      - { tool: Vault, action: put, field: text }\n      - { tool: Mial, action: put, field: text }',
      /yaml:7: secrets\.PIN\.allow\.1\.tool: there is no tool "Mial"; known: Vault/,
    ],
    [
      'PIN: { env: PIN, allow: [{ tool: Database, action: insert, field: rows }] }',
      /no tool "Database" unless DATABASE_TOOL_URL is set/,
    ],
    [
      'PIN: { env: PIN, allow: [{ tool: Vault, action: get, field: text }] }',
      /there is no action "get" of Vault; known: put/,
    ],
    [
      'PIN: { env: PIN, allow: [{ tool: Vault, action: put, field: count }] }',
      /takes no secret in "count"; it takes them in: text/,
    ],
  ])('refuses the whole file for %j, and shows no value', (entry, why) => {
    expect(() => load(entry)).toThrow(why);
    try {
      load(entry);
    } catch (error) {
      expect(String(error)).not.toMatch(new RegExp(`${VALUE}|seven77|aaaaaaaa|abcdefgh`));
    }
  });
});

describe('fields that take references', () => {
  it('are texts at the top of the arguments, or the registry refuses the tool', () => {
    expect(() => new ToolRegistry([tool(['count'])])).toThrow('Vault.put declares the secret field count');
  });
  it('are part of what a decision rests on: another set is another schema', () => {
    const digests = [tool(['text']), tool([])].map((t) => new ToolRegistry([t]).schemaDigest(t));
    expect(digests[0]).not.toBe(digests[1]);
  });
});
