import { approvalSummary } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { advise, document, say, TYPED } from '../output.js';
import { idOf } from '../refs.js';

/** Takes a held call back. Nobody is asked: what does not run can be proposed again. */
export async function withdraw(client: Client, ref: string, o: { json?: boolean; reason?: string }): Promise<number> {
  const callId = await idOf(client, ref);
  const body = o.reason === undefined ? {} : { reason: o.reason };
  const call = await client.post('staging', `/v1/approvals/${callId}/withdraw`, body, approvalSummary);
  if (o.json) document(call);
  else {
    say(`${call.spaceId}#${call.number} is ${call.status}.`);
    advise(`It will not run, and the agent is told.  See:  ${TYPED} chain ${callId}`);
  }
  return 0;
}
