/** What a model says in one round. `fragments` is how its argument text is cut up on the way. */
export interface Said {
  text?: string;
  calls?: { id: string; tool: string; fragments: string[] }[];
  /** Default: what fits. `null`: the stream ends without one. */
  finish?: string | null;
  usage?: { prompt: number; completion: number; cached?: number; written?: number } | null;
  /** The calls' fragments come in turns rather than one call after another. */
  interleaved?: boolean;
}

export interface Wire {
  format: 'openai' | 'anthropic';
  /** Server-sent events of one round. */
  events(said: Said): string[];
  /** The calls and results of a request, as the endpoint reads them. */
  history(request: string): { calls: { id: string; args: string }[]; results: { id: string; text: string }[] };
  errorEvent: string;
}

const USAGE: NonNullable<Said['usage']> = { prompt: 120, completion: 30 };
const NONE: NonNullable<Said['usage']> = { prompt: 0, completion: 0 };

const { rawJSON, parse } = JSON as unknown as {
  rawJSON: (text: string) => unknown;
  parse: (text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown) => unknown;
};
const exactly = (text: string) =>
  parse(text, (_key, value, { source }) => (typeof value === 'number' && source ? rawJSON(source) : value));

function* inTurn(said: Said): Generator<{ at: number; fragment: string; first: boolean }> {
  const calls = said.calls ?? [];
  if (!said.interleaved) {
    for (const [at, c] of calls.entries())
      for (const [i, fragment] of (c.fragments.length > 0 ? c.fragments : ['']).entries())
        yield { at, fragment, first: i === 0 };
    return;
  }
  const longest = Math.max(...calls.map((c) => c.fragments.length));
  for (let i = 0; i < longest; i++)
    for (const [at, c] of calls.entries()) {
      const fragment = c.fragments[i];
      if (fragment !== undefined) yield { at, fragment, first: i === 0 };
    }
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { type: string; [more: string]: unknown }) => `event: ${value.type}\n${data(value)}`;

export const openai: Wire = {
  format: 'openai',
  events(said) {
    const chunk = (choices: unknown[], more: object = {}) =>
      data({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more });
    const delta = (d: object) => chunk([{ index: 0, delta: d, finish_reason: null }]);
    const out = [delta({ role: 'assistant', content: '' })];
    if (said.text) out.push(delta({ content: said.text }));
    for (const { at, fragment, first } of inTurn(said)) {
      const c = said.calls?.[at];
      const start = first
        ? { id: c?.id, type: 'function', function: { name: c?.tool, arguments: fragment } }
        : undefined;
      out.push(delta({ tool_calls: [{ index: at, ...(start ?? { function: { arguments: fragment } }) }] }));
    }
    const finish = said.finish === undefined ? (said.calls?.length ? 'tool_calls' : 'stop') : said.finish;
    if (finish !== null) out.push(chunk([{ index: 0, delta: {}, finish_reason: finish }]));
    const usage = said.usage === undefined ? USAGE : said.usage;
    if (usage && finish !== null)
      out.push(
        chunk([], {
          usage: {
            prompt_tokens: usage.prompt,
            completion_tokens: usage.completion,
            total_tokens: usage.prompt + usage.completion,
            prompt_tokens_details: { cached_tokens: usage.cached ?? 0 },
          },
        }),
      );
    if (finish !== null) out.push('data: [DONE]\n\n');
    return out;
  },
  history(request) {
    const { messages } = JSON.parse(request) as {
      messages: {
        role: string;
        content: string;
        tool_call_id?: string;
        tool_calls?: { id: string; function: { arguments: string } }[];
      }[];
    };
    return {
      calls: messages.flatMap((m) => (m.tool_calls ?? []).map((c) => ({ id: c.id, args: c.function.arguments }))),
      results: messages.flatMap((m) => (m.role === 'tool' ? [{ id: m.tool_call_id ?? '', text: m.content }] : [])),
    };
  },
  errorEvent: data({ error: { message: 'the engine is on fire', type: 'server_error' } }),
};

export const anthropic: Wire = {
  format: 'anthropic',
  events(said) {
    const usage = said.usage === undefined ? USAGE : said.usage;
    const { prompt, completion, cached = 0, written = 0 } = usage ?? NONE;
    const out = [
      named({
        type: 'message_start',
        message: {
          id: 'm1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: prompt - cached - written,
            output_tokens: 1,
            cache_read_input_tokens: cached,
            cache_creation_input_tokens: written,
          },
        },
      }),
    ];
    const block = (type: string, index: number, more: object) => out.push(named({ type, index, ...more }));
    const offset = said.text ? 1 : 0;
    if (said.text) {
      block('content_block_start', 0, { content_block: { type: 'text', text: '' } });
      block('content_block_delta', 0, { delta: { type: 'text_delta', text: said.text } });
      block('content_block_stop', 0, {});
    }
    const calls = said.calls ?? [];
    const left = calls.map((c) => Math.max(1, c.fragments.length));
    for (const { at, fragment, first } of inTurn(said)) {
      const call = calls[at];
      if (first)
        block('content_block_start', at + offset, {
          content_block: { type: 'tool_use', id: call?.id, name: call?.tool, input: {} },
        });
      block('content_block_delta', at + offset, { delta: { type: 'input_json_delta', partial_json: fragment } });
      left[at] = (left[at] ?? 0) - 1;
      if (left[at] === 0 && said.finish !== null) block('content_block_stop', at + offset, {});
    }
    const known: Record<string, string> = { length: 'max_tokens', content_filter: 'refusal' };
    const finish = said.finish === undefined ? (calls.length ? 'tool_use' : 'end_turn') : said.finish;
    if (finish === null) return out;
    out.push(
      named({
        type: 'message_delta',
        delta: { stop_reason: known[finish] ?? finish, stop_sequence: null },
        usage: { output_tokens: completion },
      }),
      named({ type: 'message_stop' }),
    );
    return out;
  },
  history(request) {
    // numbers keep their spelling, which is what is looked at
    const { messages } = exactly(request) as {
      messages: { content: { type: string; id?: string; input?: unknown; tool_use_id?: string; content?: string }[] }[];
    };
    return {
      calls: messages.flatMap((m) =>
        m.content.flatMap((b) => (b.type === 'tool_use' ? [{ id: b.id ?? '', args: JSON.stringify(b.input) }] : [])),
      ),
      results: messages.flatMap((m) =>
        m.content.flatMap((b) =>
          b.type === 'tool_result' ? [{ id: b.tool_use_id ?? '', text: b.content ?? '' }] : [],
        ),
      ),
    };
  },
  errorEvent: named({ type: 'error', error: { type: 'overloaded_error', message: 'the engine is on fire' } }),
};
