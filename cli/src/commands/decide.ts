import { type ApprovalSummary, approvalSummary, missingInWords, sha256Hex } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { ask as answerTo, canAsk } from '../confirm.js';
import { failed, misused } from '../failure.js';
import { advise, document, say, TYPED } from '../output.js';
import { parseRef } from '../refs.js';
import { described, fetchApproval } from './show.js';

export interface DecideOptions {
  json?: boolean;
  reason?: string;
  digest?: string;
  yes?: boolean;
}

/**
 * Decides on a held call, by the digest of what was seen. At a terminal the call is shown and the person asked; anywhere
 * else a digest, or `--yes` for whatever stands there now, has to be given.
 */
export async function decide(
  client: Client,
  decision: 'approve' | 'reject',
  ref: string,
  o: DecideOptions,
): Promise<number> {
  parseRef(ref);
  const ask = !o.yes && !o.json && canAsk();
  if (o.digest !== undefined && !sha256Hex.safeParse(o.digest).success)
    throw misused('A digest is 64 hexadecimal digits in small letters; `show` prints it.');
  if (!ask && !o.yes && o.digest === undefined)
    throw misused(
      `Nobody can be asked here. Give --digest with the digest that \`${TYPED} show ${ref}\` printed, or --yes to ${decision} unseen.`,
    );
  const call = await fetchApproval(client, ref);
  const name = `${call.spaceId}#${call.number}`;
  const digest = o.digest ?? call.digest;
  if (ask) {
    say(...described(call), '');
    if (!(await agreed(`${decision === 'approve' ? 'Release exactly this' : 'Refuse this'} call, ${name}? [y/N] `)))
      throw failed('cli.not-confirmed', `Nothing was decided: ${name} still waits.`);
  }
  const body = { decision, digest, ...(o.reason === undefined ? {} : { reason: o.reason }) };
  const decided = await client.post('staging', `/v1/approvals/${call.id}/decision`, body, approvalSummary);
  if (o.json) document(decided);
  else {
    if (!ask) say(`digest ${digest}`);
    say(`${name} is ${decided.status === 'pending' ? 'still pending' : decided.status}.`);
    if (decided.status === 'pending') say(`Your vote counts; ${stillNeeded(decided)}`);
    else if (decided.status === 'approved')
      advise(`It is executed now, and the agent is told.  See:  ${TYPED} chain ${call.id}`);
    else advise(`It will not run, and the agent is told.  See:  ${TYPED} chain ${call.id}`);
  }
  return 0;
}

/** Nothing can be missing by now where somebody else's vote came in between, or policy asks for less again. */
const stillNeeded = ({ requirements, missing }: ApprovalSummary): string => {
  const needed = missingInWords(requirements, missing);
  return needed === '' ? 'nothing is missing any more: approve once more to release it.' : `${needed}.`;
};

const agreed = async (question: string): Promise<boolean> => /^y(es)?$/i.test(await answerTo(question));
