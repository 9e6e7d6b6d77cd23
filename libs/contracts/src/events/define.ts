import { z } from 'zod';
import { timestamp, token } from '../ids.js';

export type ServiceName = 'agent-engine' | 'policy' | 'staging' | 'taskboard' | 'audit';

/** What the subject's last token names. */
export type Entity = 'run' | 'call' | 'task' | 'conversation' | 'space';

export interface EventDefinition<T extends string = string, D extends z.ZodType = z.ZodType> {
  type: T;
  version: number;
  publisher: ServiceName;
  entity: Entity;
  /** At most once an entity: published with expected last subject sequence 0 and no message id (charter, section 3). */
  once: boolean;
  description: string;
  data: D;
}

export const define = <const T extends string, D extends z.ZodType>(d: EventDefinition<T, D>) => d;

/** CloudEvents 1.0 in structured mode; the lower-case names after `time` are extension attributes. */
export const envelope = z.strictObject({
  specversion: z.literal('1.0'),
  id: token,
  type: z.string(),
  source: z.string(),
  subject: token,
  time: timestamp,
  datacontenttype: z.literal('application/json'),
  dataschema: z.string(),
  spaceid: token,
  runid: token.optional(),
  callid: token.optional(),
  causationid: token.optional(),
  traceparent: z.string().max(64).optional(),
  data: z.unknown(),
});
export type Envelope = z.infer<typeof envelope>;

export const schemaUri = (type: string, version: number): string => `urn:holdpoint:event:${type}:${version}`;
