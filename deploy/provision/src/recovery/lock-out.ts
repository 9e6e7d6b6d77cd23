import type { ServiceName } from '@holdpoint/contracts';
import type pg from 'pg';
import { SERVICES, schemaOf } from '../names.js';
import { CannotRecover } from './projections.js';

/** Schemas with an outbox and an inbox. */
export const OUTBOXES = SERVICES.filter((s) => s !== 'audit').map(schemaOf);

/** Held by the one instance of a service that publishes, or, of audit, writes: while it is held, the service runs. */
const lockOf = (service: ServiceName): string =>
  service === 'audit' ? 'holdpoint.audit.writer' : `holdpoint.outbox.${schemaOf(service)}`;

/**
 * Held until the session ends, so that no instance begins to publish meanwhile.
 * @throws CannotRecover when the service runs
 */
export async function lockOut(client: pg.Client, service: ServiceName): Promise<void> {
  if (!(await tryLock(client, lockOf(service))))
    throw new CannotRecover(`${service} runs. Stop every instance of it first; nothing was changed.`);
}

/** @throws CannotRecover when somebody else is at it */
export async function onlyOne(client: pg.Client, service: ServiceName): Promise<void> {
  if (!(await tryLock(client, `holdpoint.rebuild.${schemaOf(service)}`)))
    throw new CannotRecover(`${service} is being rebuilt by somebody else. Wait for them, or end their program.`);
}

async function tryLock(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine', [name]);
  return rows[0].mine;
}
