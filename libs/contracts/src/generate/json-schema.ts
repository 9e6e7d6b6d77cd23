import { z } from 'zod';
import { catalogue, type EventType, envelope, schemaUri } from '../index.js';

/** An event with its envelope, as one schema. */
const wholeEvent = (type: EventType) =>
  envelope.extend({
    type: z.literal(type),
    dataschema: z.literal(schemaUri(type, catalogue[type].version)),
    data: catalogue[type].data as z.ZodType,
  });

/** JSON Schema 2020-12 of an event, under the URI that its `dataschema` names. */
export function jsonSchema(type: EventType): object {
  const { version, description } = catalogue[type];
  return { $id: schemaUri(type, version), title: type, description, ...z.toJSONSchema(wholeEvent(type)) };
}

/** The same in draft 07, the dialect that AsyncAPI documents are written in. */
export function draft07(type: EventType): object {
  const { $schema: _, ...schema } = z.toJSONSchema(wholeEvent(type), { target: 'draft-7' });
  return schema;
}
