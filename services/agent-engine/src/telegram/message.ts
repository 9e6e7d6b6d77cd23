/** The fields of `sendMessage`, of which there are no others: text is text, and no server is asked for a link in it. */
export const messageOf = (chat: number | bigint | string, text: string) => ({
  chat_id: chat,
  text,
  link_preview_options: { is_disabled: true },
});
