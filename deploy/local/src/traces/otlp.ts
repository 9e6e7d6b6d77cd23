import { z } from 'zod';

/** A span as it is kept: cut to size, for whoever can reach the port can send anything. */
export interface Span {
  traceId: string;
  spanId: string;
  parentId: string | undefined;
  name: string;
  kind: string;
  service: string;
  pid: string;
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
  failed: boolean;
  attributes: [key: string, value: string][];
  links: { traceId: string; spanId: string }[];
}

const MOST_ATTRIBUTES = 32;
const MOST_LINKS = 16;
const LONGEST_TEXT = 120;
const KINDS = ['', 'internal', 'server', 'client', 'producer', 'consumer'];
const ERROR = 2;

const text = z.string().transform((t) => (t.length > LONGEST_TEXT ? `${t.slice(0, LONGEST_TEXT)}…` : t));
const traceId = z.string().regex(/^[0-9a-f]{32}$/);
const spanId = z.string().regex(/^[0-9a-f]{16}$/);
const milliseconds = z
  .union([z.string().regex(/^\d{1,20}$/), z.number()])
  .transform((nanoseconds) => Number(BigInt(nanoseconds) / 1_000n) / 1_000);

const value = z
  .object({
    stringValue: z.string(),
    intValue: z.union([z.string(), z.number()]),
    doubleValue: z.number(),
    boolValue: z.boolean(),
  })
  .partial()
  .transform((v) => String(v.stringValue ?? v.intValue ?? v.doubleValue ?? v.boolValue ?? '…'))
  .pipe(text);
const attributes = z
  .array(z.object({ key: text, value }))
  .default([])
  .transform((all) => all.slice(0, MOST_ATTRIBUTES).map((a): [string, string] => [a.key, a.value]));

const span = z.object({
  traceId,
  spanId,
  parentSpanId: z.union([spanId, z.literal('')]).optional(),
  name: text,
  kind: z.int().default(0),
  startTimeUnixNano: milliseconds,
  endTimeUnixNano: milliseconds,
  attributes,
  links: z
    .array(z.object({ traceId, spanId }))
    .default([])
    .transform((all) => all.slice(0, MOST_LINKS)),
  status: z.object({ code: z.int() }).partial().default({}),
});

/** The parts of OTLP's trace request, in its JSON encoding, that are shown here. */
const request = z.object({
  resourceSpans: z
    .array(
      z.object({
        resource: z.object({ attributes }).default({ attributes: [] }),
        scopeSpans: z.array(z.object({ spans: z.array(span).default([]) })).default([]),
      }),
    )
    .default([]),
});

/** @throws when it is not the wire format; nothing of it is kept then */
export function readSpans(json: unknown): Span[] {
  return request.parse(json).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const of = Object.fromEntries(resource.attributes);
    return scopeSpans
      .flatMap((s) => s.spans)
      .map((s) => ({
        traceId: s.traceId,
        spanId: s.spanId,
        parentId: s.parentSpanId || undefined,
        name: s.name,
        kind: KINDS[s.kind] ?? '',
        service: of['service.name'] ?? 'unknown',
        pid: of['process.pid'] ?? '',
        from: s.startTimeUnixNano,
        to: Math.max(s.startTimeUnixNano, s.endTimeUnixNano),
        failed: s.status.code === ERROR,
        attributes: s.attributes,
        links: s.links,
      }));
  });
}
