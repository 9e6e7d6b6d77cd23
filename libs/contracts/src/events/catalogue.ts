import type { z } from 'zod';
import { approvalDecided, approvalVoted, callStaged } from './approval.js';
import { type Envelope, type EventDefinition, envelope, schemaUri } from './define.js';
import { policyDecided } from './policy.js';
import { runCompleted, runKeyDestroyed, runQueued, runStarted } from './run.js';
import { policyMemberChanged, policySpaceCreated } from './space.js';
import { taskCancelled, taskCompleted, taskCreated, taskDied, taskReady, taskRetried } from './task.js';
import { toolAbandoned, toolExecuted, toolInDoubt, toolProposed, toolStarted } from './tool.js';

const definitions = [
  runQueued,
  runStarted,
  runCompleted,
  runKeyDestroyed,
  toolProposed,
  toolAbandoned,
  toolStarted,
  toolExecuted,
  toolInDoubt,
  policyDecided,
  policySpaceCreated,
  policyMemberChanged,
  callStaged,
  approvalVoted,
  approvalDecided,
  taskCreated,
  taskReady,
  taskCompleted,
  taskRetried,
  taskDied,
  taskCancelled,
] as const;

type Definition = (typeof definitions)[number];
export type EventType = Definition['type'];
export type EventData<T extends EventType> = z.infer<Extract<Definition, { type: T }>['data']>;
export type HoldpointEvent<T extends EventType = EventType> = T extends EventType
  ? Omit<Envelope, 'type' | 'data'> & { type: T; data: EventData<T> }
  : never;

/** Every event there is, each declared once. */
export const catalogue = Object.fromEntries(definitions.map((d) => [d.type, d])) as unknown as {
  [T in EventType]: Extract<Definition, { type: T }>;
};
export const eventTypes = definitions.map((d) => d.type) as EventType[];

const eventSchemas = new Map<string, z.ZodType>(
  definitions.map((d: EventDefinition) => [d.type, envelope.extend({ data: d.data })]),
);

export class InvalidEvent extends Error {
  override readonly name = 'InvalidEvent';
}

/**
 * Reads one event and holds it against its declaration.
 * @throws InvalidEvent when the type or version is unknown or the shape is wrong; the text names the field, never its value.
 */
export function parseEvent(json: unknown): HoldpointEvent {
  const type = (json as { type?: unknown } | null)?.type;
  const schema = typeof type === 'string' ? eventSchemas.get(type) : undefined;
  if (schema === undefined) throw new InvalidEvent('unknown event type');
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new InvalidEvent(`${type}: ${issue?.path.join('.') || 'event'}: ${issue?.code}`);
  }
  const event = parsed.data as HoldpointEvent;
  const known = catalogue[event.type];
  if (event.dataschema !== schemaUri(known.type, known.version)) throw new InvalidEvent(`${type}: unknown version`);
  return event;
}
