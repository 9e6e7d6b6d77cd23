import { approvalView, type DoubtView, doubtView, page, token } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Client } from '../client.js';
import { misused } from '../failure.js';
import { advise, document, say, TYPED } from '../output.js';
import { idOf } from '../refs.js';
import { inline, named, span, table } from '../text.js';

/** Lists the calls of which nobody knows whether they took effect. */
export async function doubts(client: Client, o: { json?: boolean }): Promise<number> {
  const { items } = await client.get('engine', '/v1/doubts', page(doubtView));
  if (o.json) document({ items });
  else if (items.length === 0) say('No call is in doubt.');
  else {
    const names = await Promise.all(items.map((d) => nameOf(client, d)));
    const rows = items.map((d, i) => [
      names[i] ?? d.callId,
      d.spaceId,
      named(d),
      inline(d.agent, 24),
      d.held ? 'yes' : 'no',
      span(Date.now() - Date.parse(d.since)),
      inline(d.reason),
    ]);
    say(...table(['CALL', 'SPACE', 'WHAT', 'AGENT', 'RELEASED', 'SINCE', 'WHY'], rows));
    say('');
    advise(
      `Find out whether it happened, then:  ${TYPED} settle <call> --happened | --did-not-happen | --propose-anew`,
    );
  }
  return 0;
}

/** As a person names it: a call that was held has a number. */
async function nameOf(client: Client, { callId, held }: DoubtView): Promise<string> {
  if (!held) return callId;
  const view = await client.get('staging', `/v1/approvals/${callId}`, approvalView).catch(() => undefined);
  return view === undefined ? callId : `${view.spaceId}#${view.number}`;
}

export interface SettleOptions {
  json?: boolean;
  happened?: boolean;
  didNotHappen?: boolean;
  proposeAnew?: boolean;
  note?: string;
}

/** Says what became of a call in doubt. */
export async function settle(client: Client, ref: string, o: SettleOptions): Promise<number> {
  const anew = o.proposeAnew === true;
  if ((o.happened === true) === (o.didNotHappen === true || anew))
    throw misused('Say what you found out: either --happened, or --did-not-happen, or --propose-anew.');
  const body = {
    happened: o.happened === true,
    ...(o.note === undefined ? {} : { note: o.note }),
    ...(anew ? { proposeAnew: true } : {}),
  };
  const callId = await idOf(client, ref);
  const answer = z.looseObject({ proposedAnew: token.optional() });
  const settled = await client.post('engine', `/v1/calls/${callId}/settle`, body, answer);
  if (o.json) document(settled);
  else if (settled.proposedAnew !== undefined)
    advise(`Settled: it did not happen, and is proposed anew.  See:  ${TYPED} chain ${settled.proposedAnew}`);
  else advise(`Settled: it ${body.happened ? 'happened' : 'did not happen'}.  See:  ${TYPED} chain ${callId}`);
  return 0;
}
