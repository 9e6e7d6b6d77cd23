import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { SHORTEST_SECRET } from '@holdpoint/runtime';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { SECRET_NAME } from '../domain/references.js';
import { SETTING_OF } from '../tools/catalogue.js';
import type { Tool } from '../tools/tool.js';

const place = z.strictObject({ tool: z.string(), action: z.string(), field: z.string() });
/** Where a reference to a secret may stand. */
export type SecretPlace = z.infer<typeof place>;

const allow = z.array(place).default([]);
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable');
const entry = z.union([z.strictObject({ env: variable, allow }), z.strictObject({ file: z.string().min(1), allow })], {
  error:
    'must have either env, the name of a variable, or file, the path of a file; and may have allow, a list of tool, action and field',
});
const section = z.record(
  z.string().regex(SECRET_NAME, 'must begin with a capital letter; then capitals, digits and _, 64 characters at most'),
  entry,
);

/** A secret that agents may refer to, and where. */
export interface DeclaredSecret {
  name: string;
  value: string;
  allow: SecretPlace[];
}

/** With fewer different characters a value stands in too many texts. */
const FEWEST_DIFFERENT = 4;

/**
 * The `secrets:` section of holdpoint.yaml, with the values that it names.
 * @throws Error naming file, line and what is wrong, never a value: a file with one wrong entry is refused whole.
 */
export function loadSecrets(path: string, tools: readonly Tool[], env: NodeJS.ProcessEnv): DeclaredSecret[] {
  const lines = new LineCounter();
  const doc = parseDocument(readFileSync(path, 'utf8'), { lineCounter: lines, uniqueKeys: true });
  const refuse = (at: (string | number)[], what: string): never => {
    const node = [...at.keys()].map((i) => doc.getIn(at.slice(0, at.length - i), true)).find((n) => n != null) as
      | { range?: [number, number, number] }
      | undefined;
    throw new Error(`${path}:${lines.linePos(node?.range?.[0] ?? 0).line}: ${at.join('.')}: ${what}`);
  };

  const parsed = section.safeParse(doc.toJS()?.secrets ?? {});
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const what = issue?.code === 'invalid_key' ? issue.issues[0]?.message : issue?.message;
    return refuse(['secrets', ...((issue?.path ?? []) as (string | number)[])], what ?? 'is not valid');
  }
  return Object.entries(parsed.data).map(([name, declared]) => {
    const at = ['secrets', name];
    for (const [i, p] of declared.allow.entries()) {
      const fault = faultOf(p, tools);
      if (fault) refuse([...at, 'allow', i, fault.field], fault.what);
    }
    const value = 'env' in declared ? env[declared.env] : contentOf(resolve(dirname(resolve(path)), declared.file));
    const from = 'env' in declared ? `the variable ${declared.env}` : `the file ${declared.file}`;
    if (value === undefined || value === '') return refuse(at, `${from} is not there or is empty`);
    if (value.length < SHORTEST_SECRET || new Set(value).size < FEWEST_DIFFERENT)
      return refuse(
        at,
        `${from} holds less than ${SHORTEST_SECRET} characters, or less than ${FEWEST_DIFFERENT} different ones: such a value stands in too many other texts to be kept out of them. Give it a longer one`,
      );
    return { name, value, allow: declared.allow };
  });
}

/** Without the line end that editors put at the end of a file. Undefined when it cannot be read. */
function contentOf(file: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)).replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}

function faultOf(p: SecretPlace, tools: readonly Tool[]): { field: keyof SecretPlace; what: string } | undefined {
  const tool = tools.find((t) => t.name === p.tool);
  const setting = Object.hasOwn(SETTING_OF, p.tool) ? ` unless ${SETTING_OF[p.tool]} is set` : '';
  const known = (names: readonly string[]) => names.join(', ') || 'none';
  if (!tool)
    return {
      field: 'tool',
      what: `there is no tool ${JSON.stringify(p.tool)}${setting}; known: ${known(tools.map((t) => t.name))}`,
    };
  const action = tool.actions.find((a) => a.name === p.action);
  if (!action)
    return {
      field: 'action',
      what: `there is no action ${JSON.stringify(p.action)} of ${p.tool}; known: ${known(tool.actions.map((a) => a.name))}`,
    };
  const fields: readonly string[] = action.secretFields ?? [];
  if (!fields.includes(p.field))
    return {
      field: 'field',
      what: `${p.tool}.${p.action} takes no secret in ${JSON.stringify(p.field)}; it takes them in: ${known(fields)}`,
    };
  return undefined;
}
