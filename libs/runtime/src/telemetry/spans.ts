import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { Refusal } from '../refusal.js';
import { formatTraceparent, parseTraceparent } from './traceparent.js';

/**
 * Spans name what was done to what, by ids and stable codes. No content ever: no arguments, results, prompts, statements,
 * URLs, and no text of an error, which a model or a remote end may have written.
 */
export type { Attributes, Span };
export { SpanKind };

export interface SpanOptions {
  kind?: SpanKind;
  attributes?: Attributes;
  /** `traceparent` of what this goes on with; null begins a trace. Absent: the span that is active here. */
  parent?: string | null | undefined;
  /** `traceparent` of spans in other traces that this has to do with. */
  links?: (string | undefined)[];
  /** The stable code of an error that leaves the span; undefined when it is no fault. Default {@link errorType}. */
  fault?: (error: unknown) => string | undefined;
}

const tracer = trace.getTracer('holdpoint');
let on = false;

/** Said once, by whoever has started the SDK. Until then nothing here does anything. */
export function spansAreOn(now: boolean): void {
  on = now;
}

export const isTracing = (): boolean => on;

/** Runs `work` in a span that ends with it. What throws marks the span by the kind of its error alone. */
export async function inSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  if (!on) return work(NONE);
  const { span, within } = startSpan(name, options);
  try {
    return await context.with(within, work, undefined, span);
  } catch (error) {
    const fault = (options.fault ?? errorType)(error);
    if (fault !== undefined) markFailed(span, fault);
    throw error;
  } finally {
    span.end();
  }
}

/** For work that no single function encloses; whoever starts it ends it. */
export function startSpan(name: string, options: SpanOptions): { span: Span; within: Context } {
  const above = contextOf(options.parent);
  const links = (options.links ?? []).flatMap((l) => parseTraceparent(l) ?? []).map((c) => ({ context: c }));
  const { kind = SpanKind.INTERNAL, attributes = {} } = options;
  const span = tracer.startSpan(name, { kind, attributes, links }, above);
  return { span, within: trace.setSpan(above, span) };
}

/** Runs `work` as part of another trace, or of none, without a span of its own. */
export function continuing<T>(traceparent: string | null | undefined, work: () => T): T {
  return on ? context.with(contextOf(traceparent ?? null), work) : work();
}

/** For loops and timers that one piece of work happens to wake: what they do is not part of it. */
export const detached = <T>(work: () => T): T => continuing(null, work);

/**
 * Work, done here, on something that has a trace of its own: a span in that trace, linked both ways with the one that is
 * active here. Something without a trace joins this one.
 */
export function inTraceOf<T>(
  traceparent: string | null | undefined,
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  if (!on) return work();
  const here = trace.getActiveSpan();
  const theirs = parseTraceparent(traceparent) && traceparent;
  if (!theirs) return inSpan(name, { attributes }, work);
  return inSpan(name, { attributes, parent: theirs, links: [currentTraceparent()] }, (span) => {
    here?.addLink({ context: span.spanContext() });
    return work();
  });
}

/** Of the active span; undefined where there is none. */
export function currentTraceparent(): string | undefined {
  const active = on ? trace.getActiveSpan()?.spanContext() : undefined;
  return active && isSpanContextValid(active) ? formatTraceparent(active) : undefined;
}

export function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** A code or the name of a class, never a text. */
export function errorType(error: unknown): string {
  if (error instanceof Refusal) return error.code;
  const { name } = (error ?? {}) as { name?: unknown };
  return typeof name === 'string' && /^[A-Za-z]\w{0,63}$/.test(name) ? name : '_OTHER';
}

function contextOf(parent: string | null | undefined): Context {
  if (parent === undefined) return context.active();
  const remote = parseTraceparent(parent);
  return remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT;
}

const NONE: Span = trace.wrapSpanContext({ traceId: '', spanId: '', traceFlags: 0 });
