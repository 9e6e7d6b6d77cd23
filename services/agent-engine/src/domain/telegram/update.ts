import { z } from 'zod';

/** What somebody did in a chat. `other`: something that a person sent and that is no text. */
export type Said =
  | { kind: 'text'; text: string }
  | { kind: 'new'; text: string | undefined }
  | { kind: 'start' }
  | { kind: 'other' }
  | { kind: 'nothing' };

export interface Update {
  id: number;
  /** Null where the update belongs to no chat that we understand. */
  chatId: string | null;
  said: Said;
}

const message = z.object({
  chat: z.object({ id: z.union([z.int(), z.bigint()]) }),
  from: z.object({ is_bot: z.boolean() }).optional(),
  text: z.string().optional(),
});
const envelope = z.object({ update_id: z.int(), message: z.unknown().optional() });

/** Of a message without text: what tells that it was sent by a person, not made by Telegram (who came, who left). */
const SENT = [
  'animation audio caption contact dice document game location paid_media photo poll sticker story venue video video_note voice',
].flatMap((names) => names.split(' '));

/** @returns what `getUpdates` answered, in its order; undefined when that is not what the Bot API answers */
export function readUpdates(result: unknown): Update[] | undefined {
  const list = z.array(envelope).safeParse(result);
  return list.data?.map((u) => {
    const read = message.safeParse(u.message);
    if (!read.success) return { id: u.update_id, chatId: null, said: { kind: 'nothing' } };
    const { chat, from, text } = read.data;
    const sent = SENT.some((name) => Object.hasOwn(u.message as object, name));
    const said: Said = from?.is_bot
      ? { kind: 'nothing' }
      : text === undefined
        ? { kind: sent ? 'other' : 'nothing' }
        : meant(text);
    return { id: u.update_id, chatId: String(chat.id), said };
  });
}

function meant(text: string): Said {
  const [, command, behind = ''] = /^\/(new|start)(?:@\w+)?(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  if (command === 'start') return { kind: 'start' };
  if (command === 'new') return { kind: 'new', text: behind.trim() === '' ? undefined : behind };
  return text.trim() === '' ? { kind: 'other' } : { kind: 'text', text };
}
