import { runView } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { advise, document, say, TYPED } from '../output.js';
import { parseId } from '../refs.js';

/** Ends a run. One that waits ends at once; one that is played finishes the effect that is under way, and nothing more. */
export async function cancel(client: Client, id: string, o: { json?: boolean }): Promise<number> {
  const run = await client.post('engine', `/v1/runs/${parseId(id)}/cancel`, {}, runView);
  if (o.json) document(run);
  else {
    say(run.state === 'cancelled' ? 'Cancelled.' : 'It is being cancelled. An effect under way is finished first.');
    advise(`To see what it did:  ${TYPED} chain ${run.id}`);
  }
  return 0;
}
