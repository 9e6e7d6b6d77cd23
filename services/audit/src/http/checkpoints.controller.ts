import type { Identity } from '@holdpoint/contracts';
import { DATABASE, Refusal, requirePerson, Who } from '@holdpoint/runtime';
import { Controller, Get, Inject, Query, Res } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { checkpointOf } from '../log/export.js';
import { checkpointsBehind, latestCheckpoint, type StoredCheckpoint, signingKeys } from '../store/checkpoints.js';
import type { Database } from '../store/schema.js';
import { type CheckpointsQuery, checkpointsQuery } from './query.js';

interface TextReply {
  header(name: string, value: string): this;
  send(body: string): unknown;
}

/** Checkpoints and keys hold no content: whoever is signed in may have them, and keep them elsewhere. */
@Controller('v1/audit')
export class CheckpointsController {
  constructor(@Inject(DATABASE) private readonly db: Kysely<Database>) {}

  /** The latest signed note, as it is. */
  @Get('checkpoint')
  async latest(@Who() who: Identity, @Res() reply: TextReply): Promise<void> {
    requirePerson(who);
    reply.header('content-type', 'text/plain; charset=utf-8').send((await requireCheckpoint(this.db)).note);
  }

  /** In the order in which they were made. */
  @Get('checkpoints')
  async list(@Query({ schema: checkpointsQuery }) { cursor, limit }: CheckpointsQuery, @Who() who: Identity) {
    requirePerson(who);
    const rows = await checkpointsBehind(this.db, Number(cursor ?? 0), limit + 1);
    const items = rows.slice(0, limit).map(({ number, size, note }) => ({ number, size, note }));
    const last = items.at(-1);
    return { items, ...(rows.length > limit && last ? { nextCursor: String(last.number) } : {}) };
  }

  /** The public keys in the order in which they signed; each but the first with the note by which the one before hands over. */
  @Get('keys')
  async keys(@Who() who: Identity) {
    requirePerson(who);
    const { origin } = checkpointOf(await requireCheckpoint(this.db));
    const keys = await signingKeys(this.db);
    return {
      origin,
      keys: keys.map(({ number, vkey, since_size, note }) => ({
        vkey,
        sinceSize: since_size,
        ...(number === 1 ? {} : { note }),
      })),
    };
  }
}

/**
 * The latest checkpoint, or the latest of this size.
 * @throws Refusal `not-found`
 */
export async function requireCheckpoint(db: Kysely<Database>, size?: number): Promise<StoredCheckpoint> {
  const found = await latestCheckpoint(db, size);
  if (found !== null) return found;
  throw size === undefined
    ? new Refusal(
        'not-found',
        'audit.not-signed',
        'The log has no checkpoint yet. It gets one with its next event, if the service has a signing key (AUDIT_SIGNING_KEY_FILE).',
      )
    : new Refusal(
        'not-found',
        'audit.no-such-checkpoint',
        `There is no checkpoint of ${size} events; see the list of checkpoints.`,
      );
}
