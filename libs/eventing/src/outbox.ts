import type { HoldpointEvent, ServiceName } from '@holdpoint/contracts';
import type { Transaction } from 'kysely';
import { outgoing } from './publisher.js';

/** Promises that an event is published if, and only if, the transaction commits. Needs the tables of `eventingTables`. */
export class Outbox {
  constructor(private readonly service: ServiceName) {}

  /**
   * Call within the transaction that writes the row which the event tells of; poke the relay once it has committed.
   * Events about one entity are published in the order in which they were added.
   * @throws Unpublishable when the type is another service's
   */
  // biome-ignore lint/suspicious/noExplicitAny: any service's schema
  async add(tx: Transaction<any>, event: HoldpointEvent): Promise<void> {
    const { id, subject, once, bytes } = outgoing(event, this.service);
    await tx
      .insertInto('outbox')
      .values({
        event_id: id,
        entity: `${event.spaceid}.${event.subject}`,
        subject,
        body: Buffer.from(bytes).toString('utf8'),
        once,
      })
      .execute();
  }
}
