import { type EventType, type ServiceName, topology } from '@holdpoint/contracts';
import type { Bus } from './bus.js';

/**
 * Calls back for each live message of the type, in every instance of a service. A hint and no more: it may come before the
 * event is stored, or never, as while the bus is away, so that nothing may rest on it but to look again.
 * @returns ends it
 * @throws when the type is none of the service's hints in contracts' topology
 */
export function onHint(bus: Bus, type: EventType, heard: (spaceId: string, entityId: string) => void): () => void {
  const pattern = `${type}.>`;
  if (!topology[bus.name as ServiceName].hints.includes(pattern))
    throw new Error(`${bus.name} has no hint of ${pattern}: see the topology in @holdpoint/contracts`);
  const subscription = bus.nc.subscribe(pattern, {
    callback: (_err, message) => {
      const [spaceId, entityId] = message.subject.slice(type.length + 1).split('.');
      if (spaceId && entityId) heard(spaceId, entityId);
    },
  });
  return () => subscription.unsubscribe();
}
