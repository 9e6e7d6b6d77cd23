import { STREAM } from '@holdpoint/contracts';
import { DeliverPolicy } from '@nats-io/jetstream';
import { Hub } from './messages.js';
import type { Rebuilt, Recovery } from './rebuild.js';

/** Has the consumer hand out everything from `seq` on, whatever was acknowledged before. */
export async function beginConsumerAt(hub: Hub, name: string, seq: number): Promise<void> {
  const { config } = await hub.jsm.consumers.info(STREAM, name);
  const { opt_start_seq: _seq, opt_start_time: _time, ...rest } = config;
  await hub.jsm.consumers.delete(STREAM, name);
  await hub.jsm.consumers.add(STREAM, { ...rest, deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq });
}

/**
 * An event whose effect was lost with the database was acknowledged all the same, and would not come again. Consumers that
 * are beyond such an event are put back before it; what had its effect is known to the rows, and is not done again.
 */
export async function placeAfterRebuild(to: Recovery, { unanswered }: Rebuilt): Promise<void> {
  if (to.bus === null || unanswered.size === 0) return;
  const hub = await Hub.open(to.bus.servers, to.bus.password);
  try {
    for (const [name, seq] of unanswered) {
      const { ack_floor } = await hub.jsm.consumers.info(STREAM, name);
      if (ack_floor.stream_seq < seq) continue;
      await beginConsumerAt(hub, name, seq);
      to.say(`${name} begins anew at ${seq}: the effect of that event is not there`);
    }
  } finally {
    await hub.close();
  }
}
