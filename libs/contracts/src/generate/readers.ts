import { catalogue, type EventType, type ServiceName, topology } from '../index.js';

const SERVICES = Object.keys(topology) as ServiceName[];

/** `tool.executed.>` and `>` take `tool.executed`. */
const takes = (pattern: string, type: EventType): boolean =>
  pattern === '>' || `${type}.`.startsWith(pattern.replace(/>$/, ''));

const those = (of: 'consumes' | 'hints', type: EventType): ServiceName[] =>
  SERVICES.filter((service) => topology[service][of].some((pattern) => takes(pattern, type)));

/** Services that have a durable consumer which is handed this event. */
export const consumersOf = (type: EventType): ServiceName[] => those('consumes', type);

/** Services that the bus tells at once that it was stored. */
export const hintedOf = (type: EventType): ServiceName[] => those('hints', type);

/** Of the subject's last token, and how that is called in an address. */
export const entityParameter = (type: EventType): string => `${catalogue[type].entity}Id`;
