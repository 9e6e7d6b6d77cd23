import { types } from 'node:util';
import { type deadLetterState, InvalidEvent, printable } from '@holdpoint/contracts';
import { Refusal, Unavailable } from '@holdpoint/runtime';
import { JetStreamApiError } from '@nats-io/jetstream';
import { sql } from 'kysely';
import type { z } from 'zod';
import { type AnyDatabase, type Delivery, Discard, RetryLater } from './event-context.js';
import { Unpublishable } from './publisher.js';

/** `failing`: still being tried. `recovered`: a later try succeeded. `dead`: given up. `replayed`: handled by hand since. */
export type DeadLetterState = z.infer<typeof deadLetterState>;

/** Letters of these spaces and, when `unreadable`, those whose subject names no space. */
export interface VisibleLetters {
  spaces: string[];
  unreadable: boolean;
}

export interface DeadLetter {
  id: number;
  consumer: string;
  streamSeq: number;
  subject: string;
  attempts: number;
  lastError: string;
  state: DeadLetterState;
  /** False for a message that carried the broker's own headers: it is forged, whatever its body says. */
  replayable: boolean;
  createdAt: Date;
  updatedAt: Date;
}

interface Row extends Omit<Delivery, 'deliveries'> {
  state: DeadLetterState;
  replayable: boolean;
}

export interface Fault {
  attempts: number;
  dead: boolean;
}

const now = sql<Date>`clock_timestamp()`;

/** The space that the subject names, as `readSubject` reads it; null when it names none. */
const spaceOf = sql<
  string | null
>`substring(subject from '^[a-z-]+\\.[a-z-]+\\.([a-z0-9_-]{1,64})\\.[a-z0-9_-]{1,64}$')`;

/** Type, space and entity of a subject of ours. It is the bus that vouches for it, not the body. */
export function readSubject(subject: string): { type: string; spaceId: string; entityId: string } | null {
  const [, type, spaceId, entityId] =
    /^([a-z-]+\.[a-z-]+)\.([a-z0-9_-]{1,64})\.([a-z0-9_-]{1,64})$/.exec(subject) ?? [];
  return type && spaceId && entityId ? { type, spaceId, entityId } : null;
}

export const deadLetters = {
  /** The newest first; by default those that were given up. */
  async list(
    db: AnyDatabase,
    {
      states = ['dead'],
      limit = 100,
      before,
      visible,
    }: { states?: DeadLetterState[]; limit?: number; before?: number | undefined; visible?: VisibleLetters } = {},
  ): Promise<DeadLetter[]> {
    let found = db
      .selectFrom('dead_letters')
      .select(['id', 'consumer', 'stream_seq as streamSeq', 'subject', 'attempts', 'last_error as lastError'])
      .select(['state', 'replayable', 'created_at as createdAt', 'updated_at as updatedAt'])
      .where('state', 'in', states);
    if (before !== undefined) found = found.where('id', '<', before);
    if (visible)
      found = found.where(sql<boolean>`coalesce(${spaceOf} = ANY(${visible.spaces}), ${visible.unreadable})`);
    const rows = await found.orderBy('id', 'desc').limit(limit).execute();
    return rows.map((row) => ({ ...row, id: Number(row.id), streamSeq: Number(row.streamSeq) })) as DeadLetter[];
  },

  async find(db: AnyDatabase, id: number): Promise<Row | undefined> {
    const row = await db.selectFrom('dead_letters').selectAll().where('id', '=', id).executeTakeFirst();
    return (
      row && {
        consumer: row.consumer,
        seq: Number(row.stream_seq),
        subject: row.subject,
        bytes: row.body,
        streamTime: row.stream_time,
        state: row.state,
        replayable: row.replayable,
      }
    );
  },

  /** Adds a fault of the handler; with the `limit`th the letter is dead. */
  count(db: AnyDatabase, delivery: Delivery, error: unknown, limit: number): Promise<Fault> {
    return put(db, delivery, error, { limit, replayable: true });
  },

  /** A letter that is dead at once. */
  async bury(db: AnyDatabase, delivery: Delivery, error: unknown, replayable = true): Promise<void> {
    await put(db, delivery, error, { limit: 1, replayable });
  },

  /** A replay by hand failed: the letter stays dead, with the new error. One that was replayed meanwhile stays so. */
  async failAgain(
    db: AnyDatabase,
    { consumer, seq }: Pick<Delivery, 'consumer' | 'seq'>,
    error: unknown,
  ): Promise<void> {
    await db
      .updateTable('dead_letters')
      .set({ last_error: explain(error), attempts: sql`attempts + 1`, updated_at: now })
      .where('consumer', '=', consumer)
      .where('stream_seq', '=', seq)
      .where('state', '=', 'dead')
      .execute();
  },

  async settle(
    db: AnyDatabase,
    { consumer, seq }: Pick<Delivery, 'consumer' | 'seq'>,
    state: DeadLetterState,
  ): Promise<void> {
    await db
      .updateTable('dead_letters')
      .set({ state, updated_at: now })
      .where('consumer', '=', consumer)
      .where('stream_seq', '=', seq)
      .where('state', 'in', ['failing', 'dead'])
      .execute();
  },
};

async function put(
  db: AnyDatabase,
  delivery: Delivery,
  error: unknown,
  { limit, replayable }: { limit: number; replayable: boolean },
): Promise<Fault> {
  const fault = { last_error: explain(error), updated_at: now };
  return db
    .insertInto('dead_letters')
    .values({
      consumer: delivery.consumer,
      stream_seq: delivery.seq,
      subject: printable(delivery.subject),
      stream_time: delivery.streamTime,
      body: Buffer.from(delivery.bytes),
      replayable,
      attempts: 1,
      last_error: fault.last_error,
      state: limit <= 1 ? 'dead' : 'failing',
    })
    .onConflict((known) =>
      known.columns(['consumer', 'stream_seq']).doUpdateSet({
        ...fault,
        attempts: sql`dead_letters.attempts + 1`,
        state: sql`CASE WHEN dead_letters.attempts + 1 >= ${limit} THEN 'dead' ELSE 'failing' END`,
      }),
    )
    .returning(['attempts', sql<boolean>`state = 'dead'`.as('dead')])
    .executeTakeFirstOrThrow() as Promise<Fault>;
}

/** Errors whose text is ours, or the server's own, and quotes no content. */
const plainSpoken = [InvalidEvent, Discard, RetryLater, Refusal, Unpublishable, Unavailable, JetStreamApiError];

/**
 * An error for tables and logs, where content must never be in the clear: the text of any other error may quote what was
 * being handled, so that only its kind and place are told.
 */
export function explain(error: unknown): string {
  if (!types.isNativeError(error)) return typeof error;
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const kind = typeof code === 'string' || typeof code === 'number' ? `${error.name} ${code}` : error.name;
  const place = error.stack
    ?.split('\n')
    .find((line) => /^\s+at /.test(line))
    ?.trim();
  const what = plainSpoken.some((known) => error instanceof known)
    ? `${kind}: ${error.message}`
    : `${kind} ${place ?? ''}`.trimEnd();
  return printable(cause === undefined ? what : `${what}, because of ${explain(cause)}`).slice(0, 500);
}
