import type { HoldpointEvent } from '@holdpoint/contracts';
import { type Attributes, errorType, inSpan, isTracing, SpanKind } from '@holdpoint/runtime';
import { type Delivery, RetryLater } from './event-context.js';

interface Published {
  id: string;
  subject: string;
  bytes: Uint8Array;
  traceparent?: string | null;
}

/** OpenTelemetry's conventions for messaging; a subject holds type, space and entity, and no content. */
const messaging = (operation: 'publish' | 'process', subject: string, eventId: string): Attributes => ({
  'messaging.system': 'nats',
  'messaging.operation.name': operation,
  'messaging.operation.type': operation === 'publish' ? 'send' : 'process',
  'messaging.destination.name': subject,
  'messaging.message.id': eventId,
});

const typeOf = (subject: string): string => subject.split('.').slice(0, -2).join('.');

/**
 * One try to have an event stored, in the trace that the event says it belongs to, however much later and by whichever
 * instance: a relay that finds the event in its table knows no other. An event that belongs to none begins none.
 */
export async function publishSpan<T>(out: Published, store: () => Promise<T>): Promise<T> {
  const parent = isTracing() ? (out.traceparent === undefined ? traceparentOf(out) : out.traceparent) : null;
  if (!parent) return store();
  const attributes = messaging('publish', out.subject, out.id);
  return inSpan(`publish ${typeOf(out.subject)}`, { kind: SpanKind.PRODUCER, attributes, parent }, store);
}

/** The handling of an event, in the trace of the event. One that only has to come again is no fault. */
export const processSpan = (event: HoldpointEvent, delivery: Delivery, handle: () => Promise<void>): Promise<void> =>
  inSpan(
    `process ${event.type}`,
    {
      kind: SpanKind.CONSUMER,
      attributes: {
        ...messaging('process', delivery.subject, event.id),
        'messaging.consumer.group.name': delivery.consumer,
        'holdpoint.space.id': event.spaceid,
        ...(event.callid === undefined ? {} : { 'holdpoint.call.id': event.callid }),
        ...(event.runid === undefined ? {} : { 'holdpoint.run.id': event.runid }),
      },
      parent: event.traceparent ?? null,
      fault: (error) => (error instanceof RetryLater ? undefined : errorType(error)),
    },
    handle,
  );

/** From the body, which is all that the outbox keeps. */
function traceparentOf({ bytes }: Published): string | undefined {
  const { traceparent } = JSON.parse(Buffer.from(bytes).toString('utf8')) as HoldpointEvent;
  return traceparent;
}
