import { token } from '@holdpoint/contracts';
import { z } from 'zod';

const place = z.tuple([token]);

/** Where a page ended: the id of its last call. Opaque to the client. */
export const cursor = z
  .string()
  .max(200)
  .transform((text, ctx) => {
    try {
      return place.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))[0];
    } catch {
      ctx.addIssue({ code: 'custom', message: 'is not a cursor; take `nextCursor` of the page before' });
      return z.NEVER;
    }
  });

export const cursorAfter = (callId: string): string => Buffer.from(JSON.stringify([callId])).toString('base64url');
