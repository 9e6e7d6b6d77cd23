export { API_PREFIX, type Bus, type BusOptions, connectBus } from './bus.js';
export {
  type BatchConsumer,
  type BatchConsumerOptions,
  consumeBatches,
  type RawMessage,
} from './consume-batches.js';
export { type DeadLetter, deadLetters } from './dead-letters.js';
export { type NewEvent, newEvent, newId } from './event.js';
export { Discard, type EventContext, RetryLater } from './event-context.js';
export { BUS, type EventingConfig, EventingModule, type EventingOptions } from './eventing.module.js';
export { FactWaiter } from './fact-waiter.js';
export { JetStreamServer } from './jetstream-server.js';
export { JETSTREAM, OnEvent } from './on-event.js';
export { Outbox } from './outbox.js';
export { OutboxRelay } from './outbox-relay.js';
export { AlreadyDecided, EventPublisher } from './publisher.js';
export type { Stored } from './stored.js';
export { StreamReader } from './stream-reader.js';
export { eventingTables } from './tables.js';
