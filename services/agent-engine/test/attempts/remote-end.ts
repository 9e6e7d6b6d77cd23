import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to first attempts; all later ones are answered as they should be. */
export type Trouble =
  | 'none'
  /** They are kept waiting before they begin. */
  | 'hold before'
  /** Their effect takes place, and the answer is kept back. */
  | 'hold after'
  /** Their effect takes place, and the answer says nothing. */
  | 'unknown'
  /** No attempt, first or later, is told anything. */
  | 'mute';

/**
 * The far end of the test's tool, in a process that nobody kills. It counts what really happened to each call:
 * - idempotent: a value is set, and setting it again changes nothing
 * - keyed: the same key is acted upon once
 * - reconcilable, once: every request acts; what was done can be looked up by the call's id
 */
export async function startRemoteEnd() {
  const effects = new Map<string, number>();
  const requests: { callId: string; attempt: number; what: string }[] = [];
  const held: (() => void)[] = [];
  const end = {
    trouble: 'none' as Trouble,
    url: '',
    requests,
    effectsOf: (callId: string) => effects.get(callId) ?? 0,
    get held() {
      return held.length;
    },
    letGo: () => {
      for (const go of held.splice(0)) go();
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createServer(async (request, response) => {
    const [, what = '', action = '', callId = '', nth = ''] = (request.url ?? '').split('/');
    const attempt = Number(nth);
    requests.push({ callId, attempt, what });
    const first = attempt === 1;
    const hold = () => new Promise<void>((go) => held.push(go));
    const answer = (body: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    const known = end.effectsOf(callId);
    if (what === 'lookup') return answer({ done: known > 0 });
    if (what === 'begin') {
      if (first && end.trouble === 'hold before') await hold();
      return answer({});
    }
    if (what !== 'effect') return answer({});
    if (known === 0 || action === 'reconcilable' || action === 'once') effects.set(callId, known + 1);
    if (first && end.trouble === 'hold after') await hold();
    return answer({ known: end.trouble !== 'mute' && !(first && end.trouble === 'unknown') });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  end.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return end;
}
