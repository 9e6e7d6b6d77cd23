interface ServerEvent {
  /** Where to go on: of this block, or of the last one that had it. */
  lastId: string;
  /** Null for a block that only tells from where to go on. */
  data: string | null;
}

/** Server-sent events (WHATWG HTML, section 9.2), as they come. Comments and what is cut off are left out. */
export async function* serverEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let lastId = '';
  for await (const chunk of chunks) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/);
    rest = events.pop() ?? '';
    for (const event of events) {
      const lines = event.split(/\r?\n/);
      const values = (field: string) =>
        lines.filter((l) => l.startsWith(`${field}:`)).map((l) => l.slice(field.length + 1).replace(/^ /, ''));
      const id = values('id').at(-1);
      lastId = id ?? lastId;
      const data = values('data');
      if (data.length > 0 || id !== undefined) yield { lastId, data: data.length > 0 ? data.join('\n') : null };
    }
  }
}
