import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { cutOff, failureOf, garbled } from './failure.js';

/**
 * A provider's model whose calls carry their argument text exactly as the wire did, or whose stream fails. A provider
 * re-serialises arguments that did not come as a stream of text, writes `{}` for none at all, and drops fragments that it
 * cannot attribute; all of that shows when what it reports is held against the raw chunks.
 */
export class FaithfulModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: LanguageModelV4['supportedUrls'];

  constructor(
    private readonly model: LanguageModelV4,
    /** Takes secrets out of what is said of a failure. */
    private readonly scrub: (text: string) => string,
    private readonly adapt: (options: LanguageModelV4CallOptions) => LanguageModelV4CallOptions = (o) => o,
  ) {
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.supportedUrls = model.supportedUrls;
  }

  doGenerate(): never {
    throw new Error('only doStream keeps the argument bytes; nothing here calls doGenerate');
  }

  /** @throws ModelFailure, here or while the stream is read; the caller's own abort comes as it is. */
  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const failed = (error: unknown) =>
      options.abortSignal?.aborted ? options.abortSignal.reason : failureOf(error, this.scrub);
    try {
      const { stream } = await this.model.doStream({ ...this.adapt(options), includeRawChunks: true });
      return { stream: ReadableStream.from(this.#read(stream, failed)) };
    } catch (error) {
      throw failed(error);
    }
  }

  async *#read(stream: ReadableStream<LanguageModelV4StreamPart>, failed: (error: unknown) => unknown) {
    try {
      yield* verbatim(stream);
    } catch (error) {
      throw failed(error);
    }
  }
}

type Call = Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>;

/** Calls come at the end, in the order in which the model began them, whenever each was complete. */
async function* verbatim(stream: ReadableStream<LanguageModelV4StreamPart>): AsyncGenerator<LanguageModelV4StreamPart> {
  const calls: { id: string; input: string; call?: Call }[] = [];
  const open = (id: string) => calls.find((c) => c.id === id && !c.call);
  let sent = 0;
  for await (const part of stream)
    switch (part.type) {
      case 'raw':
        sent += argumentLength(part.rawValue);
        break;
      case 'tool-input-start':
        calls.push({ id: part.id, input: '' });
        break;
      case 'tool-input-delta': {
        const to = open(part.id);
        if (to) to.input += part.delta;
        break;
      }
      case 'tool-input-end':
        break;
      case 'tool-call': {
        const begun = open(part.toolCallId);
        if (begun) begun.call = part;
        else calls.push({ id: part.toolCallId, input: '', call: part });
        break;
      }
      case 'error':
        throw part.error;
      case 'finish':
        yield* checked(calls, sent);
        yield part;
        break;
      default:
        yield part;
    }
}

function checked(calls: { input: string; call?: Call }[], sent: number): Call[] {
  const complete = calls.map(({ input, call }) => {
    if (!call) throw cutOff();
    // one that the provider runs is never carried out here, so nobody relies on its text
    if (call.providerExecuted) return call;
    if (call.input !== input && !(input === '' && call.input === '{}'))
      throw garbled('arguments that did not come as text');
    return { ...call, input };
  });
  const taken = calls.reduce((n, c) => n + c.input.length, 0);
  if (sent !== taken && !complete.some((c) => c.providerExecuted)) throw garbled('arguments of which a part was lost');
  return complete;
}

/** How many characters of arguments a chunk carries, in either wire format. */
function argumentLength(raw: unknown): number {
  const chunk = raw as {
    choices?: { delta?: { tool_calls?: { function?: { arguments?: unknown } }[] | null } | null }[];
    delta?: { partial_json?: unknown };
  } | null;
  const length = (text: unknown) => (typeof text === 'string' ? text.length : 0);
  const calls = chunk?.choices?.[0]?.delta?.tool_calls ?? [];
  return calls.reduce((n, c) => n + length(c?.function?.arguments), length(chunk?.delta?.partial_json));
}
