import { catalogue, type EventType, type HoldpointEvent, InvalidEvent } from './events/catalogue.js';
import { token } from './ids.js';

export const STREAM = 'HOLDPOINT';

/** The stream takes these prefixes and nothing else: a wider pattern would store the broker's own advisories. */
export const STREAM_SUBJECTS = ['run.>', 'tool.>', 'policy.>', 'call.>', 'approval.>', 'task.>'] as const;

/**
 * Signed checkpoints of the audit log have a stream of their own: on the first they would beget checkpoints (charter,
 * section 3). Only audit may publish there.
 */
export const CHECKPOINT_STREAM = 'HOLDPOINT_CHECKPOINTS';
export const CHECKPOINT_SUBJECTS = ['checkpoint.>'] as const;
/** Each message a signed note: a checkpoint. */
export const CHECKPOINT_SUBJECT = 'checkpoint.log';
/** Each message a signed note: by which a key hands over to the next. */
export const CHECKPOINT_KEY_SUBJECT = 'checkpoint.key';

/** `<type>.<spaceId>.<entityId>`. @throws when a token is not one. */
export function subjectFor(type: EventType, spaceId: string, entityId: string): string {
  return `${type}.${token.parse(spaceId)}.${token.parse(entityId)}`;
}

export const subjectOf = (e: HoldpointEvent): string => subjectFor(e.type, e.spaceid, e.subject);

/**
 * Refuses an event whose body tells another story than the subject that the bus let its publisher use (charter, section 2).
 * @throws InvalidEvent
 */
export function checkSubject(e: HoldpointEvent, subject: string): void {
  if (subjectOf(e) !== subject) throw new InvalidEvent('type, space or id disagrees with the subject');
  const { entity, publisher } = catalogue[e.type];
  if (e.source !== sourceOf(publisher)) throw new InvalidEvent('source is not the publisher of this type');
  if (entity === 'call' && e.callid !== e.subject) throw new InvalidEvent('callid disagrees with the subject');
  if (entity === 'space' && e.spaceid !== e.subject) throw new InvalidEvent('space disagrees with the subject');
  if (entity === 'run' && e.runid !== e.subject) throw new InvalidEvent('runid disagrees with the subject');
}

export const sourceOf = (service: string): string => `/holdpoint/${service}`;
