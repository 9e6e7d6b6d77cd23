import { auditStatus, eventTypes, name, timestamp, token } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Page } from '../store/audit-log.js';

const seq = z.string().regex(/^\d{1,15}$/);

const page = {
  order: z.enum(['asc', 'desc']).default('asc'),
  /** `nextCursor` of the page before. */
  cursor: seq.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
};

export const entriesQuery = z.strictObject({
  run: token.optional(),
  task: token.optional(),
  call: token.optional(),
  tool: name.optional(),
  action: name.optional(),
  agent: name.optional(),
  status: auditStatus.optional(),
  space: token.optional(),
  from: timestamp.optional(),
  to: timestamp.optional(),
  ...page,
});
export type EntriesQuery = z.infer<typeof entriesQuery>;

export const receiptsQuery = z.strictObject({
  run: token.optional(),
  task: token.optional(),
  space: token.optional(),
  ...page,
});
export type ReceiptsQuery = z.infer<typeof receiptsQuery>;

const FAMILIES = new Set(eventTypes.map((type) => type.split('.')[0]));

export const tailQuery = z.strictObject({
  space: token.optional(),
  /** An event type, or its first word: `tool.executed`, `tool`. */
  type: z
    .string()
    .refine((type) => FAMILIES.has(type) || (eventTypes as string[]).includes(type), 'is no type of event')
    .optional(),
  call: token.optional(),
  run: token.optional(),
  /** Tells what stands behind this sequence; the header `Last-Event-ID` counts more. */
  since: seq.optional(),
});
export type TailQuery = z.infer<typeof tailQuery>;

/** The types that a query asks for; undefined for all. */
export const typesOf = (type: string | undefined): string[] | undefined =>
  type === undefined ? undefined : eventTypes.filter((t) => t === type || t.startsWith(`${type}.`));

/** Where a tail goes on. What a client sends as its last id and is none of ours is left alone. */
export const positionAfter = (query: TailQuery, lastEventId: string | undefined): number | undefined => {
  const from = seq.safeParse(lastEventId).data ?? query.since;
  return from === undefined ? undefined : Number(from);
};

const LONGEST_MS = { hour: 31 * 86_400_000, day: 731 * 86_400_000, all: Number.POSITIVE_INFINITY };

export const spanQuery = z
  .strictObject({
    space: token.optional(),
    from: timestamp.optional(),
    to: timestamp.optional(),
    bucket: z.enum(['hour', 'day']).optional(),
  })
  .transform(({ from, to = new Date().toISOString(), bucket, space }, ctx) => {
    const longest = LONGEST_MS[bucket ?? 'all'];
    const since = from ?? (bucket && new Date(Date.parse(to) - longest).toISOString());
    if (since !== undefined && Date.parse(to) - Date.parse(since) > longest)
      ctx.addIssue({ code: 'custom', path: ['from'], message: 'is too early: 31 days by hour, two years by day' });
    return { space, from: since, to, bucket };
  });
export type SpanQuery = z.infer<typeof spanQuery>;

const count = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);

export const checkpointsQuery = z.strictObject({ cursor: seq.optional(), limit: page.limit });
export type CheckpointsQuery = z.infer<typeof checkpointsQuery>;

export const inclusionQuery = z.strictObject({
  seq: count,
  /** A checkpoint's. Default: the latest one's. */
  size: count.optional(),
});
export type InclusionQuery = z.infer<typeof inclusionQuery>;

export const consistencyQuery = z.strictObject({ from: count.pipe(z.int().min(1)), to: count.optional() });
export type ConsistencyQuery = z.infer<typeof consistencyQuery>;

export const exportQuery = z.strictObject({
  /** One, or several with commas between. */
  space: z
    .string()
    .transform((text) => [...new Set(text.split(','))].toSorted())
    .pipe(z.array(token))
    .optional(),
  tool: name.optional(),
  run: token.optional(),
  from: timestamp.optional(),
  to: timestamp.optional(),
  content: z.enum(['sealed', 'opened']).default('sealed'),
  /** Of the checkpoint that closes it. Default: the latest one's. */
  size: count.optional(),
  /** Goes on behind the event of this index, without the lines before the events. */
  after: count.optional(),
  /** Size of an older checkpoint, to prove that the log grew out of that one. */
  known: count.pipe(z.int().min(1)).optional(),
});
export type ExportQuery = z.infer<typeof exportQuery>;

/** One row more than asked for, so that the last page knows that it is. */
export const pageOf = ({
  order,
  cursor,
  limit,
}: {
  order: Page['order'];
  cursor?: string | undefined;
  limit: number;
}): Page => ({
  order,
  after: cursor === undefined ? null : Number(cursor),
  limit: limit + 1,
});

export function cursorPage<T extends { streamSeq: number }>(
  rows: T[],
  limit: number,
): { items: T[]; nextCursor?: string } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(rows.length > limit && last ? { nextCursor: String(last.streamSeq) } : {}) };
}
