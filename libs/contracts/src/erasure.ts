import { z } from 'zod';
import { timestamp, token } from './ids.js';

/** Which conversations of a space are erased. What is named together has to hold together. */
export const erasureRequest = z
  .strictObject({
    spaceId: token,
    conversationId: token.optional(),
    /** Conversations that are this person's, or in which one of their runs took place. */
    personId: token.optional(),
    /** Conversations in which nothing has run since. */
    before: timestamp.optional(),
    /** Every conversation of the space. */
    everything: z.literal(true).optional(),
    /** Stands in the event for good, in plain text: no content. */
    reason: z.string().trim().min(1).max(128),
  })
  .refine((r) => r.everything === true || r.conversationId !== undefined || r.personId !== undefined || r.before, {
    error: 'name a conversation, a person or a time; or say `everything`, for the whole space',
  })
  .refine((r) => !r.everything || (!r.conversationId && !r.personId && !r.before), {
    path: ['everything'],
    error: 'leaves nothing out: give it alone',
  });
export type ErasureRequest = z.infer<typeof erasureRequest>;

export const erasureView = z.object({
  /** Data keys that this request destroyed. */
  destroyed: z.int(),
  /** Conversations that were left alone, as something runs in them: at most 100. Cancel it, and ask again. */
  busy: z.array(token),
});
export type ErasureView = z.infer<typeof erasureView>;
