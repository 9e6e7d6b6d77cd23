import { approvalTime, heldShare, outcomeCost, toolErrorRate } from '@holdpoint/contracts';
import { z } from 'zod';
import { type Client, queryString } from '../client.js';
import { misused } from '../failure.js';
import { document, say } from '../output.js';
import { inline, named, table } from '../text.js';

export interface AnalysisOptions {
  json?: boolean;
  space?: string;
  from?: string;
  to?: string;
  bucket?: string;
}

interface Question<T> {
  path: string;
  item: z.ZodType<T>;
  /** Said when there is nothing to show. */
  nothing: string;
  columns: string[];
  cells: (item: T) => string[];
}

type Bucketed = { bucket: string | null };
/** What its own `item` lets through is what its `cells` take. */
const question = <T extends Bucketed>(q: Question<T>) => q as unknown as Question<Bucketed>;

/** What the audit log comes to, by the words of `holdpoint audit …`. */
export const ANALYSES = {
  'error-rates': question({
    path: 'tools/error-rates',
    item: toolErrorRate,
    nothing: 'No call has ended in that time.',
    columns: ['WHAT', 'CALLS', 'ERRORS', 'DENIED', 'NOT FOUND', 'RATE'],
    cells: (r) => [inline(named(r)), ...[r.calls, r.errors, r.denied, r.notFound].map(String), percent(r.rate)],
  }),
  held: question({
    path: 'tools/held',
    item: heldShare,
    nothing: 'No call was held and none has ended in that time.',
    columns: ['WHAT', 'CALLS', 'HELD', 'SHARE'],
    cells: (r) => [inline(named(r)), String(r.calls), String(r.held), percent(r.share)],
  }),
  'approval-times': question({
    path: 'approvals/times',
    item: approvalTime,
    nothing: 'Nothing was decided in that time.',
    columns: ['WHAT', 'DECIDED', 'APPROVED', 'BY PEOPLE', 'MEDIAN', 'P95'],
    cells: (r) => [
      inline(named(r)),
      ...[r.decided, r.approved, r.byPerson].map(String),
      duration(r.medianMs),
      duration(r.p95Ms),
    ],
  }),
  costs: question({
    path: 'costs',
    item: outcomeCost,
    nothing: 'No run has ended in that time.',
    columns: ['AGENT', 'OUTCOMES', 'RUNS', 'COST', 'NOT KNOWN OF', 'EACH'],
    cells: (r) => [
      inline(r.agent),
      String(r.outcomes),
      String(r.runs),
      inline(r.cost.amount),
      String(r.unknownCosts),
      inline(r.perOutcome ?? '-'),
    ],
  }),
};

/** Asks one of the questions above and prints the answer, a line for each hour or day if asked for. */
export async function analyse(client: Client, what: keyof typeof ANALYSES, o: AnalysisOptions): Promise<number> {
  if (o.bucket !== undefined && !['hour', 'day'].includes(o.bucket)) throw misused('--bucket is hour or day.');
  const { json, space, bucket } = o;
  const query = queryString({ space, bucket, from: timeOf('from', o.from), to: timeOf('to', o.to) });
  const { path, item, nothing, columns, cells } = ANALYSES[what];
  const { items } = await client.get('audit', `/v1/audit/${path}${query}`, z.object({ items: z.array(item) }));
  if (json) document({ items });
  else if (items.length === 0) say(nothing);
  else {
    const since = (from: string | null) => (bucket ? [from ?? ''] : []);
    const [first = '', ...rest] = columns;
    say(
      ...table(
        [first, ...(bucket ? ['FROM'] : []), ...rest],
        items.map((i) => {
          const [name = '', ...numbers] = cells(i);
          return [name, ...since(i.bucket), ...numbers];
        }),
      ),
    );
  }
  return 0;
}

const percent = (share: number | null): string => (share === null ? '-' : `${(100 * share).toFixed(1)} %`);

function duration(ms: number | null): string {
  if (ms === null) return '-';
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 3_600_000 ? `${(ms / 60_000).toFixed(1)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

export function timeOf(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw misused(`--${option} is a point in time, such as 2030-01-31T09:00:00Z.`);
  return at.toISOString();
}
