import { z } from 'zod';
import { timestamp } from './ids.js';

/** A file's beginning, for people. `text` is null where the bytes are no text; `bytes` is the size of the whole file. */
const fileState = z.object({ bytes: z.int().nonnegative(), text: z.string().nullable(), cut: z.boolean() });

/** A row by column, every value in the database's own spelling; null is SQL's NULL. */
const row = z.record(z.string(), z.string().nullable());

/**
 * What a held call would change, as its tool saw things when it was asked. All of it is text of agents and of strangers.
 * An aid beside the frozen bytes, never in their place: what is released is those bytes.
 */
export const callPreview = z
  .discriminatedUnion('kind', [
    z.object({
      kind: z.literal('mail'),
      from: z.string(),
      to: z.array(z.string()),
      cc: z.array(z.string()),
      /** Absent where there are none. */
      bcc: z.array(z.string()).optional(),
      subject: z.string(),
      body: z.string(),
    }),
    z.object({ kind: z.literal('message'), to: z.string(), text: z.string() }),
    /** `before` and `after` null: there is no such file then. */
    z.object({ kind: z.literal('file'), path: z.string(), before: fileState.nullable(), after: fileState.nullable() }),
    /** `before` null: no row with this key is there now. */
    z.object({ kind: z.literal('row'), table: z.string(), before: row.nullable(), after: row }),
    /** Anything else, as label and value. */
    z.object({ kind: z.literal('facts'), facts: z.array(z.object({ label: z.string(), value: z.string() })) }),
  ])
  .and(z.object({ note: z.string().optional() }));
export type CallPreview = z.infer<typeof callPreview>;

/** `preview` null: the tool has none, or could not look; `note` says which. */
export const callPreviewView = z.object({
  callId: z.string(),
  at: timestamp,
  preview: callPreview.nullable(),
  note: z.string().optional(),
});
export type CallPreviewView = z.infer<typeof callPreviewView>;
