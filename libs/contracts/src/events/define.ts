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
  /** What it means, for whoever reads it. */
  description: string;
  /** What makes its publisher publish it. */
  when: string;
  data: D;
}

export const define = <const T extends string, D extends z.ZodType>(d: EventDefinition<T, D>) => d;

/** CloudEvents 1.0 in structured mode; the lower-case names after `time` are extension attributes. */
export const envelope = z.strictObject({
  specversion: z.literal('1.0'),
  id: token.describe('Of this event alone. A consumer that saw it before has seen the event before.'),
  type: z.string().describe('As the subject begins.'),
  source: z.string().describe('`/holdpoint/` and the service that published it.'),
  subject: token.describe(
    'The run, call, task or conversation that the event is about; last token of the NATS subject.',
  ),
  time: timestamp.describe("By the publisher's clock. The order of events is the stream's, not this one."),
  datacontenttype: z.literal('application/json'),
  dataschema: z.string().describe('Names type and version: `urn:holdpoint:event:<type>:<version>`.'),
  spaceid: token.describe('The space that it belongs to; second last token of the NATS subject.'),
  runid: token.optional(),
  callid: token.optional(),
  causationid: token.optional().describe('Id of the event that brought this one about.'),
  traceparent: z.string().max(64).optional().describe('W3C trace context.'),
  data: z.unknown(),
});
export type Envelope = z.infer<typeof envelope>;

export const schemaUri = (type: string, version: number): string => `urn:holdpoint:event:${type}:${version}`;
