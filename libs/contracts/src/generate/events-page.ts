import { z } from 'zod';
import {
  callRef,
  catalogue,
  type EventType,
  envelope,
  eventTypes,
  principal,
  STREAM,
  sealed,
  taskWork,
} from '../index.js';
import { consumersOf, entityParameter, hintedOf } from './readers.js';

interface Schema {
  type?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  format?: string;
  pattern?: string;
  minimum?: number;
  maxLength?: number;
}

const schemaOf = (type: z.ZodType): Schema => z.toJSONSchema(type) as Schema;
const fieldNames = (schema: Schema): string[] => Object.keys(schema.properties ?? {});

/** Shapes that many events share, each described once. */
const SHAPES = [
  { name: 'call', says: 'One tool call, as every event about it names it.', schema: schemaOf(callRef) },
  { name: 'work', says: 'What a task asks for.', schema: schemaOf(taskWork) },
  { name: 'principal', says: 'Who is answerable. `unknown` is said, never guessed.', schema: schemaOf(principal) },
  {
    name: 'sealed',
    says: 'Content, as ciphertext (AES-256-GCM) under the data key `kid` of its conversation. Without a grant on the keyring it stays closed.',
    schema: schemaOf(sealed),
  },
];

/** The catalogue of events, for people. */
export function eventsPage(): string {
  return `${[
    '<!-- Generated from libs/contracts by `npm run fix`. Change the declaration of the event, not this page. -->',
    '# Events',
    `All that happens is an event in one JetStream stream, \`${STREAM}\`, in one order, and each event has one service that alone can publish it. Subject: \`<type>.<space>.<entity>\`. Body: a CloudEvents 1.0 JSON document. JSON Schemas and an AsyncAPI 3 document lie in [libs/contracts/generated](../libs/contracts/generated). To read events of your own accord: [Add a consumer](add-a-consumer.md).`,
    'Delivery is at least once: keep the `id` with the effect. A released version of an event never changes; unknown types and versions are to be left alone.',
    table(['event', 'published by', 'consumed by', 'what it means'], eventTypes.map(overview)),
    '## The envelope',
    fields(schemaOf(envelope)),
    ...SHAPES.flatMap(({ name, says, schema }) => [`## Shape: ${name}`, says, fields(schema, name)]),
    ...eventTypes.flatMap(section),
  ].join('\n\n')}\n`;
}

const names = (services: readonly string[]): string => services.join(', ') || 'nobody';
const anchor = (heading: string): string =>
  `#${heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')}`;

function overview(type: EventType): string[] {
  const { publisher, description } = catalogue[type];
  return [`[\`${type}\`](${anchor(type)})`, publisher, names(consumersOf(type)), description];
}

function section(type: EventType): string[] {
  const { version, publisher, description, when, once, entity, data } = catalogue[type];
  const hinted = hintedOf(type);
  return [
    `## ${type}`,
    description,
    [
      `- ${when}`,
      `- **Subject:** \`${type}.<space>.<${entityParameter(type)}>\`, version ${version}${once ? `; at most once a ${entity}, which the stream itself sees to` : ''}`,
      `- **Published by:** ${publisher}`,
      `- **Consumed by:** ${names(consumersOf(type))}${hinted.length > 0 ? `; told at once: ${names(hinted)}` : ''}`,
    ].join('\n'),
    fields(schemaOf(data)),
  ];
}

function fields(schema: Schema, inShape?: string): string {
  return table(['field', 'type', 'what it is'], [...rows(schema, '', inShape)]);
}

function* rows(schema: Schema, prefix: string, inShape?: string): Generator<string[]> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const optional = schema.required?.includes(name) ? '' : ', optional';
    const bare = withoutNull(field);
    yield [`\`${prefix}${name}\``, `${typeOf(field, inShape)}${optional}`, bare.description ?? field.description ?? ''];
    if (bare.properties && shapeOf(bare, inShape) === undefined) yield* rows(bare, `${prefix}${name}.`, inShape);
  }
}

const withoutNull = (schema: Schema): Schema => {
  const others = (schema.anyOf ?? []).filter((s) => s.type !== 'null');
  return others.length === 1 ? (others[0] as Schema) : schema;
};

/** An event may narrow a shape's fields; it is the shape all the same. */
const shapeOf = (schema: Schema, except?: string): string | undefined =>
  SHAPES.find((s) => s.name !== except && fieldNames(s.schema).join() === fieldNames(schema).join())?.name;

function typeOf(schema: Schema, inShape?: string): string {
  const bare = withoutNull(schema);
  const nullable = bare === schema ? '' : ' or null';
  return `${nameOf(bare, inShape)}${nullable}`;
}

function nameOf(schema: Schema, inShape?: string): string {
  const shape = shapeOf(schema, inShape);
  if (shape !== undefined) return `[${shape}](${anchor(`Shape: ${shape}`)})`;
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.items) return `list of ${nameOf(schema.items, inShape)}`;
  if (schema.format === 'date-time') return 'time, UTC';
  if (schema.pattern === '^[0-9a-f]{64}$') return 'SHA-256, hex';
  if (schema.pattern === '^[a-z0-9_-]{1,64}$') return 'token';
  return schema.type ?? 'depends on the type';
}

const cell = (text: string): string => text.replaceAll('|', '\\|');
const table = (heads: string[], lines: string[][]): string =>
  [heads, heads.map(() => '---'), ...lines].map((line) => `| ${line.map(cell).join(' | ')} |`).join('\n');
