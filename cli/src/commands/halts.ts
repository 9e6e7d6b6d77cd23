import { type HaltView, haltRequest, haltView } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { misused } from '../failure.js';
import { advise, document, say, TYPED } from '../output.js';
import { parseId } from '../refs.js';
import { spaceOf } from '../spaces-of.js';
import { inline, table } from '../text.js';

export interface HaltOptions {
  json?: boolean;
  space?: string;
  agent?: string;
  everything?: boolean;
  reason: string;
}

/** Stops an agent, a space or everything: once this returns no call is begun any more. What had begun is not undone. */
export async function halt(client: Client, o: HaltOptions): Promise<number> {
  if (o.everything && (o.space !== undefined || o.agent !== undefined))
    throw misused('--everything leaves out no space and no agent: give it alone, or name what to halt.');
  const scope = o.everything ? 'everything' : o.agent === undefined ? 'space' : 'agent';
  const request = {
    scope,
    reason: o.reason,
    ...(o.everything ? {} : { spaceId: await spaceOf(client, o.space) }),
    ...(o.agent === undefined ? {} : { agent: o.agent }),
  };
  const parsed = haltRequest.safeParse(request);
  if (!parsed.success) throw misused(`${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}.`);
  const set = await client.post('policy', '/api/v1/halts', parsed.data, haltView);
  if (o.json) document(set);
  else {
    say(`Halted: ${whatOf(set)}. No call is begun any more; what had begun before is not undone.`);
    advise(`To go on:  ${TYPED} lift ${set.id}`);
  }
  return 0;
}

/** Ends a halt. Held calls that were released meanwhile go on. */
export async function lift(client: Client, id: string, o: { json?: boolean }): Promise<number> {
  const lifted = await client.post('policy', `/api/v1/halts/${parseId(id)}/lift`, {}, haltView);
  if (o.json) document(lifted);
  else say(`Lifted: ${whatOf(lifted)} goes on.`);
  return 0;
}

/** Lists halts, those that were lifted as well with `all`. */
export async function halts(client: Client, o: { json?: boolean; all?: boolean; space?: string }): Promise<number> {
  const query = { spaceId: o.space, all: o.all ? 'true' : undefined };
  const items = await client.all('policy', '/api/v1/halts', query, haltView);
  if (o.json) document({ items });
  else if (items.length === 0) say(o.all ? 'There was never a halt.' : 'Nothing is halted.');
  else
    say(
      ...table(
        ['HALT', 'OF', 'BY', 'SINCE', 'LIFTED', 'REASON'],
        items.map((h) => [
          h.id,
          whatOf(h),
          inline(h.setBy, 40),
          h.setAt,
          h.liftedAt === null ? '-' : `${h.liftedAt} by ${inline(h.liftedBy ?? '?', 40)}`,
          inline(h.reason, 80),
        ]),
      ),
    );
  return 0;
}

function whatOf(h: HaltView): string {
  if (h.scope === 'everything') return 'everything';
  return h.scope === 'space' ? `the space ${h.spaceId}` : `agent ${inline(h.agent ?? '?', 40)} of ${h.spaceId}`;
}
