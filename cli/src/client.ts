import { type Problem, page, problem } from '@holdpoint/contracts';
import { z } from 'zod';
import { Failure, failed, notRunning } from './failure.js';
import { serverEvents } from './server-events.js';
import type { Service, Settings } from './settings.js';

const TIMEOUT_MS = 30_000;
const PAGE_SIZE = 200;
/** Well beyond the heartbeats of an event stream. */
const SILENCE_MS = 45_000;

/** The services' HTTP interfaces. Whatever is not the answer that was asked for is thrown as a Failure. */
export class Client {
  constructor(private readonly settings: Settings) {}

  get<T extends z.ZodType>(service: Service, path: string, schema: T): Promise<z.infer<T>> {
    return this.#ask(service, 'GET', path, schema);
  }

  post<T extends z.ZodType>(service: Service, path: string, body: object, schema: T): Promise<z.infer<T>> {
    return this.#ask(service, 'POST', path, schema, body);
  }

  put<T extends z.ZodType>(service: Service, path: string, body: object, schema: T): Promise<z.infer<T>> {
    return this.#ask(service, 'PUT', path, schema, body);
  }

  /** Of what answers nothing when it is done. */
  async delete(service: Service, path: string): Promise<void> {
    await this.#ask(service, 'DELETE', path, z.undefined());
  }

  /** Every item of a list, page after page. */
  async all<T extends z.ZodType>(service: Service, path: string, query: Query, item: T): Promise<z.infer<T>[]> {
    const items: z.infer<T>[] = [];
    let cursor: string | undefined;
    do {
      const at = `${path}${queryString({ ...query, limit: PAGE_SIZE, cursor })}`;
      const found = await this.get(service, at, page(item));
      items.push(...(found.items as z.infer<T>[]));
      cursor = found.nextCursor;
    } while (cursor !== undefined);
    return items;
  }

  /**
   * What the service tells as it happens. Ends without an error when it tells no more, for whatever reason: whoever needs
   * to know how a thing ended asks for it then.
   */
  async *watch<T extends z.ZodType>(service: Service, path: string, event: T): AsyncGenerator<z.infer<T>> {
    try {
      for await (const { told } of this.follow(service, path, event)) if (told !== null) yield told;
    } catch {
      return;
    }
  }

  /**
   * The same, with the id from which to go on after each; `told` is null where there is nothing but that. With a body it is
   * posted.
   * @throws Failure when the service refuses or cannot be reached. A connection that breaks later ends it.
   */
  async *follow<T extends z.ZodType>(
    service: Service,
    path: string,
    event: T,
    lastId = '',
    body?: object,
  ): AsyncGenerator<{ lastId: string; told: z.infer<T> | null }> {
    const silent = new AbortController();
    const timer = setTimeout(() => silent.abort(), SILENCE_MS);
    try {
      const response = await this.#open(service, path, lastId, silent.signal, body);
      const heard = response.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, to) {
            timer.refresh();
            to.enqueue(chunk);
          },
        }),
      );
      for await (const { data, lastId } of serverEvents(orUntilItBreaks(heard))) {
        const told = data === null ? undefined : event.safeParse(parsed(data)).data;
        yield { lastId, told: (told ?? null) as z.infer<T> | null };
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * An answer that is no JSON document, as it comes.
   * @param type what it has to be, such as `text/plain`
   * @throws Failure when the service refuses or cannot be reached; a connection that breaks later is thrown as it is
   */
  body(service: Service, path: string, type: string): Promise<ReadableStream<Uint8Array>> {
    return this.#open(service, path, '', undefined, undefined, type);
  }

  async #open(
    service: Service,
    path: string,
    lastId: string,
    signal?: AbortSignal,
    body?: object,
    type = 'text/event-stream',
  ): Promise<ReadableStream<Uint8Array>> {
    const base = this.settings.urls[service];
    const response = await fetch(new URL(path, base), {
      headers: {
        accept: `${type}, application/problem+json`,
        authorization: `Bearer ${this.settings.token}`,
        ...(lastId && { 'last-event-id': lastId }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      redirect: 'error',
      ...(signal && { signal }),
    }).catch(() => {
      throw notRunning(`${service} cannot be reached at ${base}.`);
    });
    if (response.ok && response.headers.get('content-type')?.startsWith(type) && response.body) return response.body;
    const text = await response.text().catch(() => '');
    throw new Failure(problemOf(service, response.status, parsed(text)));
  }

  async #ask<T extends z.ZodType>(
    service: Service,
    method: string,
    path: string,
    schema: T,
    body?: object,
  ): Promise<z.infer<T>> {
    const base = this.settings.urls[service];
    let response: Response;
    let text: string;
    try {
      response = await fetch(new URL(path, base), {
        method,
        headers: {
          accept: 'application/json, application/problem+json',
          authorization: `Bearer ${this.settings.token}`,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        // a token is for the service it was issued to, and for nobody it points at
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      if ((error as Error).name === 'TimeoutError')
        throw failed(
          'cli.no-answer',
          `${service} gave no answer in ${TIMEOUT_MS / 1000} s. Look before you try again.`,
        );
      throw notRunning(`${service} cannot be reached at ${base}.`);
    }
    const json = parsed(text);
    if (!response.ok) throw new Failure(problemOf(service, response.status, json));
    const answer = schema.safeParse(json);
    if (answer.success) return answer.data;
    const field = answer.error.issues[0]?.path.join('.') || 'the whole';
    throw failed(
      'cli.unexpected-answer',
      `${service} answered something unexpected (${field}). Is it another version?`,
    );
  }
}

async function* orUntilItBreaks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch {
    // What broke is the connection; what came before it counts.
  }
}

export type Query = Record<string, string | number | undefined>;

/** `?a=1&b=2` of what is defined, or nothing. */
export function queryString(query: Query): string {
  const set = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined) set.append(k, String(v));
  return set.size === 0 ? '' : `?${set}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const anyProblem = z.looseObject(problem.shape);

function problemOf(service: Service, status: number, json: unknown): Problem {
  const told = anyProblem.safeParse(json);
  if (told.success) return told.data;
  const detail = `${service} answered ${status} and did not say why.`;
  return { type: 'about:blank', title: 'Unexpected answer', status, detail, code: 'cli.unexpected-answer' };
}
