import type { Readable } from 'node:stream';
import { printable } from '@holdpoint/contracts';
import { buildConnector, Client } from 'undici';

/** What is known of a request to the Bot API. */
export type Answer =
  | { kind: 'ok'; result: unknown }
  /** Telegram itself said no, so nothing was done. */
  | { kind: 'refused'; code: number; description: string; retryAfterS?: number }
  /** Not one byte of the request was written. */
  | { kind: 'not-sent'; why: string }
  /** It was written, and nobody can tell what became of it. */
  | { kind: 'unknown'; why: string };

export interface CallOptions {
  signal: AbortSignal;
  /** Asked when the connection stands, right before the request is written: a reason not to, or undefined. */
  mayNotBegin?: () => Promise<string | undefined>;
}

const CONNECT_MS = 10_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Codes with which the Bot API refuses a request as a whole. Of any other one its effect is open. */
const REFUSALS = [400, 401, 403, 404, 409, 429];

/**
 * The Bot API over one connection a request, so that it is certain whether a request was begun: it is written at most once,
 * never again on another connection and never to where a redirect points. The token is in no text that comes out of here.
 */
export class BotApi {
  readonly #origin: string;
  readonly #prefix: string;

  constructor(
    url: string,
    private readonly token: string,
  ) {
    const { origin, pathname } = new URL(url);
    this.#origin = origin;
    this.#prefix = `${pathname.replace(/\/+$/, '')}/bot${token}`;
  }

  /** @param params bigints are written in plain digits. Never rejects. */
  async call(method: string, params: object, { signal, mayNotBegin }: CallOptions): Promise<Answer> {
    let begun = false;
    const client = new Client(this.#origin, {
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: onceConnected(async () => {
        if (begun) return 'the connection was lost';
        const withheld = signal.aborted ? 'There was no time left for it.' : await mayNotBegin?.();
        if (withheld === undefined && !signal.aborted) begun = true;
        return withheld;
      }),
    });
    try {
      const { statusCode, body } = await client.request({
        method: 'POST',
        path: `${this.#prefix}/${method}`,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(params, spelledOut),
        signal,
      });
      return this.#understand(statusCode, await textOf(body));
    } catch (error) {
      if (begun) return { kind: 'unknown', why: 'Telegram was sent the request and did not say what became of it.' };
      const why = error instanceof Withheld ? error.message : 'Telegram could not be reached, so nothing was sent.';
      return { kind: 'not-sent', why };
    } finally {
      await client.destroy().catch(() => undefined);
    }
  }

  #understand(status: number, text: string): Answer {
    const said = parsed(text) as Partial<Refusal & { result: unknown }> | undefined;
    if (status === 200 && said?.ok === true) return { kind: 'ok', result: said.result };
    if (said?.ok === false && said.error_code === status && REFUSALS.includes(status)) {
      const retryAfterS = said.parameters?.retry_after;
      const description = this.#quote(String(said.description ?? ''));
      return {
        kind: 'refused',
        code: status,
        description,
        ...(Number.isSafeInteger(retryAfterS) && (retryAfterS as number) >= 0
          ? { retryAfterS: retryAfterS as number }
          : {}),
      };
    }
    if (status >= 300 && status < 400)
      return {
        kind: 'unknown',
        why: `The address in TELEGRAM_API_URL answered with a redirect (${status}), which is not followed.`,
      };
    return { kind: 'unknown', why: `Telegram's answer (status ${status}) does not say what became of the request.` };
  }

  /** A stranger's text, its beginning, and without the token, which a server may well repeat to us. */
  #quote(text: string): string {
    const secret = this.token.slice(this.token.indexOf(':') + 1);
    return printable(text.replaceAll(secret, '[token]').slice(0, 200));
  }
}

interface Refusal {
  ok: boolean;
  error_code: number;
  description: unknown;
  parameters: { retry_after?: unknown };
}

class Withheld extends Error {}

/** A connector that lets nobody write before `withheld` has answered undefined. */
function onceConnected(withheld: () => Promise<string | undefined>): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_MS, allowH2: false });
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error || !socket) return callback(error ?? new Error('no connection'), null);
      // what breaks it meanwhile shows when it is written to
      socket.on('error', () => undefined);
      void withheld()
        .catch(() => 'It could not be made sure that it may begin, so nothing was sent.')
        .then((why) => {
          if (why === undefined) return callback(null, socket);
          socket.destroy();
          callback(new Withheld(why), null);
        });
    });
}

async function textOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('an answer without end');
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}

/** ECMAScript "JSON.parse source text access"; not yet in TypeScript's library. */
const { rawJSON, parse } = JSON as unknown as {
  rawJSON: (text: string) => unknown;
  parse: (text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown) => unknown;
};

const spelledOut = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJSON(String(value)) : value;

/** Integers beyond 2^53 as bigints. */
function parsed(text: string): unknown {
  try {
    const value = parse(text, (_key, v, { source = '' }) =>
      typeof v === 'number' && !Number.isSafeInteger(v) && /^-?\d+$/.test(source) ? BigInt(source) : v,
    );
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
