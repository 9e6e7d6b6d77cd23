import { isSpanContextValid, type SpanContext } from '@opentelemetry/api';

const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** `traceparent` of W3C Trace Context, version 00. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;

/** Undefined for whatever is none. `tracestate` and baggage are left out on purpose: they are free text of strangers. */
export function parseTraceparent(text: unknown): SpanContext | undefined {
  const [, traceId, spanId, flags] = (typeof text === 'string' && FORM.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(remote) ? remote : undefined;
}
