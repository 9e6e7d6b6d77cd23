import { token } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Task } from '../domain/task.js';

const place = z.tuple([z.int().min(0), token]);

/** Where a page ended: creation time in milliseconds and id. Opaque to the client. */
export const cursor = z
  .string()
  .max(200)
  .transform((text, ctx) => {
    try {
      const [at, id] = place.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
      return { createdAt: new Date(at), id };
    } catch {
      ctx.addIssue({ code: 'custom', message: 'is not a cursor; take `nextCursor` of the page before' });
      return z.NEVER;
    }
  });

export const cursorAfter = (task: Task): string =>
  Buffer.from(JSON.stringify([task.createdAt.getTime(), task.id])).toString('base64url');
