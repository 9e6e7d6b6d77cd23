import {
  catalogue,
  checkSubject,
  type EventData,
  type EventType,
  type HoldpointEvent,
  parseEvent,
  schemaUri,
  sourceOf,
  subjectOf,
} from '@holdpoint/contracts';
import { currentTraceparent } from '@holdpoint/runtime';
import { monotonicFactory } from 'ulid';

const next = monotonicFactory();

/** A lower-case ULID: a token of a subject, sortable by the time it was made. */
export const newId = (): string => next().toLowerCase();

export interface NewEvent<T extends EventType> {
  spaceId: string;
  /** What the subject's last token names: the call, run, task or conversation (contracts' `entity` of the type). */
  entityId: string;
  /** Default: the entity itself when it is a run. */
  runId?: string | undefined;
  /** Default: the entity itself when it is a call. */
  callId?: string | undefined;
  /** Id of the event that brought this one about. */
  causationId?: string | undefined;
  data: EventData<T>;
  /** W3C trace context of the work that this event belongs to, for where no span is active: an active one is that work. */
  traceparent?: string | undefined;
  id?: string | undefined;
  time?: Date | undefined;
}

/**
 * Fills the envelope and holds the event against its declaration.
 * @throws InvalidEvent when the data or an id does not fit; a programming fault, never worth a retry.
 */
export function newEvent<T extends EventType>(type: T, e: NewEvent<T>): HoldpointEvent<T> {
  const { version, publisher, entity } = catalogue[type];
  const event = parseEvent({
    specversion: '1.0',
    id: e.id ?? newId(),
    type,
    source: sourceOf(publisher),
    subject: e.entityId,
    time: (e.time ?? new Date()).toISOString(),
    datacontenttype: 'application/json',
    dataschema: schemaUri(type, version),
    spaceid: e.spaceId,
    ...present({
      runid: e.runId ?? (entity === 'run' ? e.entityId : undefined),
      callid: e.callId ?? (entity === 'call' ? e.entityId : undefined),
      causationid: e.causationId,
      traceparent: currentTraceparent() ?? e.traceparent,
    }),
    data: e.data,
  });
  checkSubject(event, subjectOf(event));
  return event as HoldpointEvent<T>;
}

const present = (attributes: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
