import { didNotHappen, done, mayNotBegin, type ToolContext, type ToolOutcome, unknown } from '../tool.js';

export interface Broker {
  url: string;
  token: string | undefined;
}

/** A limit order; numbers are decimal, as text. */
export interface Order {
  instrument: string;
  side: 'buy' | 'sell';
  quantity: string;
  limitPrice: string;
}

const MAX_ANSWER = 64 * 1024;

/** One order, under the call's id as its key. Only the broker's own refusal proves that it was not placed. */
export async function place(broker: Broker, order: Order, ctx: ToolContext): Promise<ToolOutcome> {
  const withheld = await mayNotBegin(ctx);
  if (withheld) return didNotHappen(withheld);
  let answer: Answer;
  try {
    answer = await ask(broker, 'orders', ctx.signal, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': ctx.callId },
      body: JSON.stringify(order),
    });
  } catch (error) {
    return notConnected(error)
      ? didNotHappen('The broker could not be reached, so nothing was placed.')
      : unknown('The order was sent, but the broker did not say whether it took it.');
  }
  if (answer.status >= 200 && answer.status < 300) return done(answer.text);
  // a time-out, a conflict with the first attempt, too many requests, or the broker's own trouble say nothing of the order
  const refused = answer.status >= 400 && answer.status < 500 && ![408, 409, 425, 429].includes(answer.status);
  return refused
    ? didNotHappen(`The broker refused the order (status ${answer.status}), so nothing was placed.`)
    : unknown(`The broker answered with status ${answer.status}, which does not say whether it took the order.`);
}

export async function listOpen(broker: Broker, { signal }: ToolContext): Promise<ToolOutcome> {
  try {
    const { status, text } = await ask(broker, 'orders?status=open', signal);
    return status === 200 ? done(text) : didNotHappen(`The broker answered with status ${status}. Try again later.`);
  } catch {
    return didNotHappen('The broker could not be asked. Try again later.');
  }
}

interface Answer {
  status: number;
  text: string;
}

async function ask({ url, token }: Broker, path: string, signal: AbortSignal, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(new URL(path, url.endsWith('/') ? url : `${url}/`), {
    ...init,
    headers: { ...init.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    redirect: 'error',
    signal,
  });
  return { status: response.status, text: (await response.text()).slice(0, MAX_ANSWER) };
}

/** No connection came about, so nothing was sent. */
const notConnected = (error: unknown): boolean => {
  const { code } = ((error as Error).cause ?? {}) as { code?: string };
  return code !== undefined && ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].includes(code);
};
