import { problem } from '@holdpoint/contracts';
import type { z } from 'zod';
import { Unavailable } from './faults.js';
import { kindOf } from './http/problem.js';
import { Refusal } from './refusal.js';
import { currentTraceparent, inSpan, markFailed, SpanKind } from './telemetry/spans.js';

export interface ServiceClientOptions {
  /** Origin of the other service, such as `http://127.0.0.1:4102`. */
  baseUrl: string;
  token: string;
  timeoutMs: number;
}

export interface ServiceClient {
  get<S extends z.ZodType>(path: string, schema: S): Promise<z.infer<S>>;
  post<S extends z.ZodType>(path: string, body: unknown, schema: S): Promise<z.infer<S>>;
}

/**
 * Asks another service. `path` starts with a slash; encode what you put into it.
 * @throws Refusal that the other service answered (4xx), as it would have thrown it here
 * @throws Unavailable when there is no usable answer in time: network, 5xx, 408, 429, an answer that does not fit the
 *   schema, or 401 (our own token is at fault, never our caller's)
 */
export function serviceClient({ baseUrl, token, timeoutMs }: ServiceClientOptions): ServiceClient {
  const origin = new URL(baseUrl).origin;

  async function ask<S extends z.ZodType>(
    method: string,
    path: string,
    schema: S,
    body?: unknown,
  ): Promise<z.infer<S>> {
    const url = new URL(path, origin);
    // The token goes to that service alone, whatever the path.
    if (url.origin !== origin) throw new Error('the path leads to another origin');
    const answer = await traced(url, method, () => reach(url, method, body));
    if (answer.status >= 200 && answer.status < 300) return fit(answer, schema, url);
    if (answer.status >= 500 || [401, 408, 429].includes(answer.status))
      throw new Unavailable(`${method} ${url.href} answered ${answer.status}`);
    throw refusalOf(answer);
  }

  async function reach(url: URL, method: string, body: unknown): Promise<Answer> {
    const traceparent = currentTraceparent();
    try {
      const response = await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          ...(traceparent !== undefined && { traceparent }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      throw new Unavailable(`${method} ${url.href} got no answer`, { cause });
    }
  }

  return {
    get: (path, schema) => ask('GET', path, schema),
    post: (path, body, schema) => ask('POST', path, schema, body),
  };
}

interface Answer {
  status: number;
  text: string;
}

/** Named by the method alone: the other service knows its route, and says it in its own span. */
const traced = ({ hostname, port }: URL, method: string, ask: () => Promise<Answer>): Promise<Answer> =>
  inSpan(
    method,
    {
      kind: SpanKind.CLIENT,
      attributes: { 'http.request.method': method, 'server.address': hostname, 'server.port': Number(port) || 80 },
    },
    async (span) => {
      const answer = await ask();
      span.setAttribute('http.response.status_code', answer.status);
      if (answer.status >= 400) markFailed(span, String(answer.status));
      return answer;
    },
  );

function fit<S extends z.ZodType>(answer: { text: string }, schema: S, url: URL): z.infer<S> {
  const parsed = schema.safeParse(json(answer.text));
  if (!parsed.success) throw new Unavailable(`${url.href} answered in a shape unknown here`, { cause: parsed.error });
  return parsed.data;
}

function refusalOf(answer: { status: number; text: string }): Refusal {
  const kind = kindOf(answer.status);
  const parsed = problem.loose().safeParse(json(answer.text));
  if (!parsed.success) return new Refusal(kind, 'http.refused', `The other service answered ${answer.status}.`);
  const { type: _type, title, status: _status, instance: _instance, code, detail, errors, ...extras } = parsed.data;
  return new Refusal(kind, code, detail ?? title, { extras, ...(errors && { errors }) });
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
