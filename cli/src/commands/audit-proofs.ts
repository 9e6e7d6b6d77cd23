import { z } from 'zod';
import { type Client, queryString } from '../client.js';
import { misused } from '../failure.js';
import { document, say } from '../output.js';

const answeredKeys = z.object({
  origin: z.string(),
  keys: z.array(z.object({ vkey: z.string(), sinceSize: z.int(), note: z.string().optional() })),
});
const inclusion = z.object({
  seq: z.int(),
  index: z.int(),
  size: z.int(),
  leafHash: z.string(),
  proof: z.array(z.string()),
  checkpoint: z.string(),
});

/** The note as it is, so that it can be put into a file. */
export async function checkpoint(client: Client): Promise<number> {
  const note = await new Response(await client.body('audit', '/v1/audit/checkpoint', 'text/plain')).text();
  say(...note.replace(/\n$/, '').split('\n'));
  return 0;
}

/** One a line, in the order in which they signed; the last one does now. */
export async function keys(client: Client, { json }: { json?: boolean }): Promise<number> {
  const answer = await client.get('audit', '/v1/audit/keys', answeredKeys);
  if (json) document(answer);
  else say(...answer.keys.map((k) => k.vkey));
  return 0;
}

export async function proof(client: Client, seq: string): Promise<number> {
  if (!/^[1-9]\d{0,14}$/.test(seq)) throw misused('The event is a number of the stream, such as 17.');
  document(await client.get('audit', `/v1/audit/proofs/inclusion${queryString({ seq })}`, inclusion));
  return 0;
}
