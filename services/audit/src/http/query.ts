import { auditStatus, name, timestamp, token } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Page } from '../store/audit-log.js';

const page = {
  order: z.enum(['asc', 'desc']).default('asc'),
  /** `nextCursor` of the page before. */
  cursor: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional(),
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
