import { catalogue, type EventType, eventTypes, STREAM, sourceOf } from '../index.js';
import { draft07 } from './json-schema.js';
import { consumersOf, entityParameter } from './readers.js';

const TOKEN = 'One token of `[a-z0-9_-]`, 1 to 64 characters.';

/** Every channel, message and operation of the system as one AsyncAPI 3 document. Bodies are CloudEvents 1.0 in structured JSON. */
export function asyncApi(): object {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Holdpoint events',
      version: '1.0.0',
      description: `Everything that happens, as CloudEvents 1.0 in one JetStream stream, ${STREAM}. An operation names the service that alone may send an event, or one that has a durable consumer for it. Values \`{kid, iv, ct}\` are sealed content.`,
    },
    defaultContentType: 'application/json',
    channels: mapOf(eventTypes, channel),
    operations: Object.assign({}, ...eventTypes.map(operations)),
    components: { messages: mapOf(eventTypes, message) },
  };
}

const mapOf = <V>(types: readonly EventType[], value: (type: EventType) => V): Record<string, V> =>
  Object.fromEntries(types.map((type) => [type, value(type)]));

function channel(type: EventType) {
  const entity = entityParameter(type);
  return {
    address: `${type}.{spaceId}.{${entity}}`,
    description: catalogue[type].description,
    parameters: {
      spaceId: { description: `The space. ${TOKEN}` },
      [entity]: { description: `The ${catalogue[type].entity}. ${TOKEN}` },
    },
    messages: { [type]: { $ref: `#/components/messages/${type}` } },
  };
}

function operations(type: EventType) {
  const channel = { $ref: `#/channels/${type}` };
  const messages = [{ $ref: `#/channels/${type}/messages/${type}` }];
  const { publisher, when } = catalogue[type];
  return {
    [`${publisher}.sends.${type}`]: { action: 'send', summary: when, channel, messages },
    ...Object.fromEntries(
      consumersOf(type).map((service) => [`${service}.receives.${type}`, { action: 'receive', channel, messages }]),
    ),
  };
}

function message(type: EventType) {
  const { version, publisher, description, when, once, entity } = catalogue[type];
  return {
    name: type,
    title: `${type}, version ${version}`,
    summary: description,
    description: `${when} From ${sourceOf(publisher)}.${once ? ` At most once a ${entity}.` : ''}`,
    contentType: 'application/json',
    payload: draft07(type),
  };
}
