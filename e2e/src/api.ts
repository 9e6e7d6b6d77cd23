import { z } from 'zod';

export interface Endpoint {
  url: string;
  token: string;
}

/** A service's HTTP face as a person with a token sees it. @throws with status and problem when it refuses. */
export class Api {
  constructor(private readonly endpoint: Endpoint) {}

  async get<S extends z.ZodType>(path: string, schema: S): Promise<z.infer<S>> {
    const { status, body } = await this.ask('GET', path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${JSON.stringify(body)}`);
    return schema.parse(body);
  }

  async ask(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
    const response = await fetch(new URL(path, this.endpoint.url), {
      method,
      headers: { authorization: `Bearer ${this.endpoint.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }
}

/** Polls until `look` answers something. @throws after `timeoutMs`, naming what was waited for. */
export async function until<T>(what: string, look: () => Promise<T | undefined>, timeoutMs = 30_000): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs / 1000} s in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
