import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Tool, ToolAction } from './tool.js';

/** The part of JSON Schema that a strict object of ours comes out as. */
export interface ObjectSchema {
  type: 'object';
  properties: Record<string, Record<string, unknown>>;
  required?: string[];
  additionalProperties: false;
}

/**
 * @throws when the action's schema is not a strict object whose `action` is the action's own name, or has a default, a
 * transform or an object inside that is not strict: then what it takes and what it gives differ. Nor may it refer to parts
 * of itself: models are given its fields alone, and exact integers are found by their path.
 */
export function actionSchema(action: ToolAction): ObjectSchema {
  const { $schema, ...schema } = z.toJSONSchema(action.schema, { cycles: 'throw' });
  const object = schema as unknown as ObjectSchema;
  const { $schema: _, ...taken } = z.toJSONSchema(action.schema, { io: 'input' });
  if ('$defs' in schema) throw new Error(`the schema of action ${action.name} must be written out, without references`);
  if (object.type !== 'object' || object.additionalProperties !== false || canonical(taken) !== canonical(schema))
    throw new Error(`the schema of action ${action.name} must be a strict object that only checks`);
  if (object.properties['action']?.['const'] !== action.name || !object.required?.includes('action'))
    throw new Error(`the schema of action ${action.name} must require action to be "${action.name}"`);
  return object;
}

/** The keywords of JSON Schema that say what is inside; the others only narrow it. */
export interface JsonSchema {
  type?: unknown;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  prefixItems?: JsonSchema[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
}

/** Whether what stands at `path` may be an integer and no other number. */
export function takesExactInteger(schema: JsonSchema, path: readonly string[]): boolean {
  const types = declaredAt(schema, path).map((s) => s.type);
  return types.includes('integer') && !types.includes('number');
}

function declaredAt(schema: JsonSchema, path: readonly string[]): JsonSchema[] {
  const branches = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  const inBranches = branches.flatMap((s) => declaredAt(s, path));
  const [key, ...rest] = path;
  if (key === undefined) return [schema, ...inBranches];
  const { properties, additionalProperties, items, prefixItems } = schema;
  const inside =
    (properties && Object.hasOwn(properties, key) ? properties[key] : undefined) ??
    (typeof additionalProperties === 'object' ? additionalProperties : undefined) ??
    prefixItems?.[Number(key)] ??
    items;
  return [...(inside ? declaredAt(inside, rest) : []), ...inBranches];
}

/**
 * The one schema that a model is given for a tool. OpenAI and Anthropic both refuse `oneOf`, `anyOf` and `allOf` at the
 * top, so the actions' fields are merged; which belong to which action stands in `modelDescription`, and the action's
 * own schema decides.
 */
export function modelSchema(tool: Tool): ObjectSchema {
  const schemas = tool.actions.map(actionSchema);
  const properties: ObjectSchema['properties'] = {
    action: { type: 'string', enum: tool.actions.map((a) => a.name) },
  };
  for (const field of new Set(schemas.flatMap((s) => Object.keys(s.properties)))) {
    if (field === 'action') continue;
    const variants = new Map(
      schemas.flatMap((s) => {
        const variant = s.properties[field];
        return variant ? [[canonical(variant), variant]] : [];
      }),
    );
    const [first, ...others] = variants.values();
    properties[field] = others.length === 0 ? (first ?? {}) : { anyOf: [...variants.values()] };
  }
  const required = Object.keys(properties).filter((f) => schemas.every((s) => s.required?.includes(f)));
  return { type: 'object', properties, required, additionalProperties: false };
}

export function modelDescription(tool: Tool): string {
  const lines = tool.actions.map((a) => {
    const { properties, required = [] } = actionSchema(a);
    const fields = Object.keys(properties).filter((f) => f !== 'action');
    const listed = fields.map((f) => (required.includes(f) ? f : `${f} (optional)`)).join(', ');
    return `- ${a.name}: ${a.description} Fields: ${listed || 'none'}.`;
  });
  return [tool.description, 'Actions:', ...lines].join('\n');
}

/** SHA-256 over what a reviewer's decision about a call of this tool rests on: another digest is another tool. */
export function schemaDigest(tool: Tool): string {
  const actions = tool.actions
    .map((a) => ({
      name: a.name,
      hint: a.hint,
      scope: a.scope,
      executionClass: a.executionClass,
      schema: actionSchema(a),
      // what a reference in a field stands for is part of what the call means
      ...(a.secretFields?.length ? { secretFields: [...a.secretFields].sort() } : {}),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return createHash('sha256')
    .update(canonical({ tool: tool.name, actions }))
    .digest('hex');
}

/** JSON with its keys in one order, for our own plain values. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, v: unknown) =>
    v && typeof v === 'object' && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  );
}
