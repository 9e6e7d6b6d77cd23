import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { inexactIntegers } from '../domain/arguments/parse.js';
import {
  actionSchema,
  type JsonSchema,
  modelDescription,
  modelSchema,
  type ObjectSchema,
  schemaDigest,
  takesExactInteger,
} from './schema.js';
import type { Tool, ToolAction } from './tool.js';

export type Resolution =
  | { ok: true; action: ToolAction; args: unknown }
  | {
      ok: false;
      code: 'arguments.action-missing' | 'arguments.action-unknown' | 'arguments.schema';
      /** Names the field and what is expected there; nothing that was sent is repeated. */
      message: string;
    };

/** What a provider is told of one tool. */
export interface ModelTool {
  name: string;
  description: string;
  inputSchema: ObjectSchema;
}

/** The tools that exist. Names are matched as they are declared: no trimming, no folding of case, no likeness. */
export class ToolRegistry {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #model = new Map<string, ModelTool>();
  readonly #digests = new Map<string, string>();

  /** @throws at start, when two tools or two actions have names that can be taken for each other, or a schema is not strict. */
  constructor(tools: readonly Tool[]) {
    const alike = twoAlike(tools.map((t) => t.name));
    if (alike !== undefined)
      throw new Error(`two tools are called ${alike[0] === alike[1] ? alike[0] : alike.join(' and ')}: rename one`);
    for (const tool of tools) {
      if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(tool.name))
        throw new Error(`tool name ${tool.name} is not one that every provider accepts`);
      if (tool.actions.length === 0) throw new Error(`tool ${tool.name} has no action`);
      const actions = twoAlike(tool.actions.map((a) => a.name));
      if (actions !== undefined)
        throw new Error(`two actions of tool ${tool.name} are called ${actions.join(' and ')}: rename one`);
      for (const action of tool.actions) checkSecretFields(tool, action);
      this.#model.set(tool.name, modelTool(tool));
      this.#digests.set(tool.name, schemaDigest(tool));
    }
    this.#tools = new Map(tools.map((t) => [t.name, t]));
  }

  get names(): string[] {
    return [...this.#tools.keys()];
  }

  find(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** @param offered which of its actions the model is told of; all of them, where nothing is left out */
  forModel(tool: Tool, offered: readonly ToolAction[] = tool.actions): ModelTool {
    const whole = this.#of(this.#model, tool);
    if (offered.length === tool.actions.length) return whole;
    const key = JSON.stringify([tool.name, ...offered.map((a) => a.name)]);
    const part = this.#model.get(key) ?? modelTool({ ...tool, actions: offered });
    this.#model.set(key, part);
    return part;
  }

  schemaDigest(tool: Tool): string {
    return this.#of(this.#digests, tool);
  }

  /**
   * Which action parsed arguments ask for, if its schema takes them as they are. `args` is the very value that came in.
   * @param args what `parseArguments` returned
   */
  resolve(tool: Tool, args: unknown): Resolution {
    const known = `Set "action" to one of: ${tool.actions.map((a) => a.name).join(', ')}.`;
    const wanted: unknown = args !== null && typeof args === 'object' ? Reflect.get(args, 'action') : undefined;
    if (wanted === undefined)
      return { ok: false, code: 'arguments.action-missing', message: `The field "action" is missing. ${known}` };
    const action = tool.actions.find((a) => a.name === wanted);
    if (!action)
      return { ok: false, code: 'arguments.action-unknown', message: `${tool.name} has no such action. ${known}` };
    const parsed = action.schema.safeParse(args);
    const declared = actionSchema(action) as JsonSchema;
    const inexact = inexactIntegers(args).find((path) => takesExactInteger(declared, path));
    if (parsed.success && inexact)
      return {
        ok: false,
        code: 'arguments.schema',
        message: `The arguments of ${tool.name}.${action.name} do not fit: "${inexact.map(shown).join('.')}": expected an integer written in plain digits, such as 10, not 1e1 or 10.0. Send the whole call again, corrected.`,
      };
    if (parsed.success) {
      // prototypes aside, a check leaves what it checks as it is; coercion and trimming show in no JSON Schema
      if (!isDeepStrictEqual(structuredClone(parsed.data), structuredClone(args)))
        throw new Error(`the schema of ${tool.name}.${action.name} changes what it checks`);
      return { ok: true, action, args };
    }
    const expected = parsed.error.issues.slice(0, 5).map((i) => expectation(i, tool, action));
    return {
      ok: false,
      code: 'arguments.schema',
      message: `The arguments of ${tool.name}.${action.name} do not fit: ${expected.join('; ')}. Send the whole call again, corrected.`,
    };
  }

  #of<T>(map: ReadonlyMap<string, T>, tool: Tool): T {
    const found = map.get(tool.name);
    if (found === undefined) throw new Error(`tool ${tool.name} is not registered`);
    return found;
  }
}

const modelTool = (tool: Tool): ModelTool => ({
  name: tool.name,
  description: modelDescription(tool),
  inputSchema: modelSchema(tool),
});

/** Names that are one once case and separators are gone, as a provider or a reader may have it. */
function twoAlike(names: readonly string[]): [string, string] | undefined {
  const seen = new Map<string, string>();
  for (const name of names) {
    const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
    const other = seen.get(plain);
    if (other !== undefined) return [other, name];
    seen.set(plain, name);
  }
  return undefined;
}

/** References are looked for in texts at the top of the arguments, and nowhere else. */
function checkSecretFields({ name }: Tool, action: ToolAction): void {
  const { properties } = actionSchema(action);
  for (const field of (action.secretFields ?? []) as readonly string[])
    if (field === 'action' || properties[field]?.['type'] !== 'string')
      throw new Error(`${name}.${action.name} declares the secret field ${field}, which is no text of its own`);
}

/** A key of the sender's is repeated only if it is a plain word or an index. */
const shown = (key: PropertyKey): string => (/^(?:[A-Za-z]\w{0,63}|\d+)$/.test(String(key)) ? String(key) : '?');

/** zod's messages name what is expected, never what was sent, but for unknown keys, which are the sender's own words. */
function expectation(issue: z.core.$ZodIssue, tool: Tool, action: ToolAction): string {
  const field = issue.path.length > 0 ? `"${issue.path.map(shown).join('.')}"` : 'the object';
  if (issue.code !== 'unrecognized_keys') return `${field}: ${issue.message}`;
  return `${field} has a field that is not declared; see the fields of ${tool.name}.${action.name}`;
}
