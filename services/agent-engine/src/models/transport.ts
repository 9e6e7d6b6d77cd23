import { garbled, ModelFailure } from './failure.js';

export interface Patience {
  /** The longest that an endpoint may send nothing. */
  silenceMs: number;
  /** The longest that a whole answer may take. */
  answerMs: number;
}

const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/**
 * `fetch` for a model's endpoint. It follows no redirect, as that would carry the key elsewhere; it takes nothing but an
 * event stream of well-formed UTF-8, where a lenient decoder would put other characters in place of broken ones; and it
 * waits for nothing for ever.
 */
export function transport(patience: Patience): typeof fetch {
  return async (url, init) => {
    const control = new AbortController();
    const give = (up: string) => () => control.abort(new ModelFailure('model.unavailable', up, { mayHaveCost: true }));
    const whole = setTimeout(give(`its answer took longer than ${patience.answerMs} ms`), patience.answerMs).unref();
    const silence = setTimeout(give(`it sent nothing for ${patience.silenceMs} ms`), patience.silenceMs).unref();
    const clear = () => {
      clearTimeout(whole);
      clearTimeout(silence);
    };
    const signal = init?.signal ? AbortSignal.any([init.signal, control.signal]) : control.signal;
    try {
      const response = await fetch(url, { ...init, signal, redirect: 'manual' });
      // the provider reads the body of a refusal at once, within the same time
      if (!response.ok) return response;
      const type = response.headers.get('content-type') ?? 'no content type';
      if (response.body === null || !/^text\/event-stream\b/i.test(type)) {
        await response.body?.cancel();
        throw garbled(`${JSON.stringify(type.slice(0, 80))} in place of an event stream: check the base URL`);
      }
      const { status, headers } = response;
      return new Response(ReadableStream.from(checked(response.body, () => silence.refresh(), clear)), {
        status,
        headers,
      });
    } catch (error) {
      clear();
      throw error;
    }
  };
}

async function* checked(body: ReadableStream<Uint8Array>, heard: () => void, over: () => void) {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const decode = (bytes?: Uint8Array) => {
    try {
      utf8.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw garbled('bytes that are not UTF-8');
    }
  };
  let size = 0;
  try {
    for await (const bytes of body) {
      heard();
      size += bytes.length;
      if (size > MAX_ANSWER_BYTES) throw garbled('an answer without end');
      decode(bytes);
      yield bytes;
    }
    decode();
  } finally {
    over();
  }
}
