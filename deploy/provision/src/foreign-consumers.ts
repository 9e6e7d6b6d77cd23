import { readFileSync } from 'node:fs';
import { consumerName, STREAM_SUBJECTS } from '@holdpoint/contracts';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';

/** A program of the operator's own that is handed events and can publish nothing. */
export interface ForeignConsumer {
  name: string;
  /** Patterns such as `tool.executed.acme.>`; each has a durable consumer. */
  subjects: string[];
}

/** The consumers section is refused whole. The message says where it is wrong and what it must be. */
export class ConsumersError extends Error {
  override readonly name = 'ConsumersError';
}

const PREFIXES = STREAM_SUBJECTS.map((s) => s.replace('.>', ''));
const PATTERN = new RegExp(String.raw`^(${PREFIXES.join('|')})(\.(\*|[a-z0-9_-]{1,64})){0,3}\.>$`);
const pattern = z
  .string()
  .regex(PATTERN, `must begin with ${PREFIXES.join(', ')} and end in .>, such as tool.executed.acme.>`);
const section = z.record(
  z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'a consumer is named by small letters, digits and -, at most 32'),
  z.strictObject({ subjects: z.array(pattern).min(1).max(32) }),
);

/** What the operator says in the `consumers:` section of holdpoint.yaml. @throws ConsumersError */
export function readConsumers(path: string): ForeignConsumer[] {
  return parseConsumers(readFileSync(path, 'utf8'), path);
}

/** @throws ConsumersError */
export function parseConsumers(text: string, path = 'holdpoint.yaml'): ForeignConsumer[] {
  const whole = contentOf(text, path);
  const said = section.safeParse((whole as { consumers?: unknown } | null)?.consumers ?? {});
  if (!said.success)
    throw new ConsumersError(
      `${path}: ${said.error.issues.map((i) => `${['consumers', ...i.path].join('.')}: ${i.message}`).join('; ')}`,
    );
  const consumers = Object.entries(said.data).map(([name, { subjects }]) => ({ name, subjects }));
  for (const consumer of consumers)
    if (new Set(durableNames(consumer)).size < consumer.subjects.length)
      throw new ConsumersError(`${path}: consumers.${consumer.name}.subjects: one stands there twice: keep one`);
  return consumers;
}

/** Other sections are other services' own; but a start reads the file here first, so what is no YAML is said here. */
function contentOf(text: string, path: string): unknown {
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [broken] = doc.errors;
  if (broken === undefined) return doc.toJS();
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const keys = isMap(doc.contents) ? doc.contents.items.flatMap(({ key }) => (isScalar(key) ? [key] : [])) : [];
  const second = keys.find((key) => broken.code === 'DUPLICATE_KEY' && key.range?.[0] === broken.pos[0]);
  const first = keys.find((key) => second !== undefined && key.value === second.value);
  const what = first
    ? `the section \`${first.value}\` is there already (line ${lineAt(first.range?.[0] ?? 0)}): add to that one`
    : broken.message;
  throw new ConsumersError(`${path}:${lineAt(broken.pos[0])}: ${what}`);
}

/** No service's consumer begins like this. */
export const FOREIGN_PREFIX = 'foreign_';

export const foreignAccount = ({ name }: ForeignConsumer): string => `${FOREIGN_PREFIX}${name}`.toUpperCase();
export const foreignUser = ({ name }: ForeignConsumer): string => `${FOREIGN_PREFIX}${name}`;

/** Of the durable consumer of each subject, in their order. */
export const durableNames = (consumer: ForeignConsumer): string[] =>
  consumer.subjects.map((subject) => consumerName(foreignUser(consumer), subject).replaceAll('*', 'any'));
