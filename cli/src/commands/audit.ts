import { toolErrorRate } from '@holdpoint/contracts';
import { z } from 'zod';
import { type Client, queryString } from '../client.js';
import { misused } from '../failure.js';
import { document, say } from '../output.js';
import { inline, named, table } from '../text.js';

interface ErrorRatesOptions {
  json?: boolean;
  space?: string;
  from?: string;
  to?: string;
  bucket?: string;
}

/** How the calls of each tool and action ended. */
export async function errorRates(client: Client, o: ErrorRatesOptions): Promise<number> {
  if (o.bucket !== undefined && !['hour', 'day'].includes(o.bucket)) throw misused('--bucket is hour or day.');
  const { json, space, bucket } = o;
  const query = queryString({ space, bucket, from: timeOf('from', o.from), to: timeOf('to', o.to) });
  const { items } = await client.get(
    'audit',
    `/v1/audit/tools/error-rates${query}`,
    z.object({ items: z.array(toolErrorRate) }),
  );
  if (json) document({ items });
  else if (items.length === 0) say('No call has ended in that time.');
  else {
    const rows = items.map((r) => [
      inline(named(r)),
      ...(bucket ? [r.bucket ?? ''] : []),
      ...[r.calls, r.errors, r.denied, r.notFound].map(String),
      r.rate === null ? '-' : `${(100 * r.rate).toFixed(1)} %`,
    ]);
    say(...table(['WHAT', ...(bucket ? ['FROM'] : []), 'CALLS', 'ERRORS', 'DENIED', 'NOT FOUND', 'RATE'], rows));
  }
  return 0;
}

export function timeOf(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw misused(`--${option} is a point in time, such as 2030-01-31T09:00:00Z.`);
  return at.toISOString();
}
