import { doubtView, page } from '@holdpoint/contracts';
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
    const rows = items.map((d) => [
      d.callId,
      d.spaceId,
      named(d),
      inline(d.agent, 24),
      d.held ? 'yes' : 'no',
      span(Date.now() - Date.parse(d.since)),
      inline(d.reason),
    ]);
    say(...table(['CALL', 'SPACE', 'WHAT', 'AGENT', 'RELEASED', 'SINCE', 'WHY'], rows));
    say('');
    advise(`Find out whether it happened, then:  ${TYPED} settle <call> --happened | --did-not-happen`);
  }
  return 0;
}

export interface SettleOptions {
  json?: boolean;
  happened?: boolean;
  didNotHappen?: boolean;
  note?: string;
}

/** Says what became of a call in doubt. */
export async function settle(client: Client, ref: string, o: SettleOptions): Promise<number> {
  if ((o.happened === true) === (o.didNotHappen === true))
    throw misused('Say what you found out: either --happened or --did-not-happen.');
  const body = { happened: o.happened === true, ...(o.note === undefined ? {} : { note: o.note }) };
  const callId = await idOf(client, ref);
  const settled = await client.post('engine', `/v1/calls/${callId}/settle`, body, z.looseObject({}));
  if (o.json) document(settled);
  else advise(`Settled: it ${body.happened ? 'happened' : 'did not happen'}.  See:  ${TYPED} chain ${callId}`);
  return 0;
}
