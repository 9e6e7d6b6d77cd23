import { type DeadLetterView, deadLetterState, type Identity, type ServiceName } from '@holdpoint/contracts';
import { DATABASE, isInfrastructureFault, Refusal, requireRole, Who } from '@holdpoint/runtime';
import { Controller, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { z } from 'zod';
import { type DeadLetter, deadLetters, explain, readSubject } from './dead-letters.js';
import type { AnyDatabase } from './event-context.js';
import { JetStreamServer } from './jetstream-server.js';

/** Injection token of the service's name. */
export const SERVICE: unique symbol = Symbol('holdpoint.service');

const letterId = z.string().regex(/^\d{1,15}$/);
const listQuery = z.strictObject({
  state: deadLetterState.default('dead'),
  /** `nextCursor` of the page before. */
  cursor: letterId.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

/**
 * What a service could not handle. For owners and admins of the space that the subject names; what names no space is for
 * whoever owns any space, as it can be nobody's secret: a letter shows metadata, never a body.
 */
@Controller('v1/dead-letters')
export class DeadLettersController {
  constructor(
    @Inject(DATABASE) private readonly db: AnyDatabase,
    @Inject(JetStreamServer) private readonly server: JetStreamServer,
    @Inject(SERVICE) private readonly service: ServiceName,
  ) {}

  /** Newest first; by default those that were given up. */
  @Get()
  async list(@Query({ schema: listQuery }) query: z.infer<typeof listQuery>, @Who() who: Identity) {
    const { limit, state, cursor } = query;
    const visible = { spaces: governed(who), unreadable: ownsAny(who) };
    const before = cursor === undefined ? undefined : Number(cursor);
    const found = await deadLetters.list(this.db, { states: [state], limit: limit + 1, before, visible });
    const items = found.slice(0, limit).map((letter) => this.#view(letter));
    const last = items.at(-1);
    return { items, ...(found.length > limit && last ? { nextCursor: last.id } : {}) };
  }

  /** Runs the handler again, once. When it fails again the answer says why, and the letter stays dead. */
  @Post(':id/replay')
  @HttpCode(200)
  async replay(@Param('id', { schema: letterId }) id: string, @Who() who: Identity) {
    const letter = await deadLetters.find(this.db, Number(id));
    if (!letter) throw noSuchLetter();
    const space = readSubject(letter.subject)?.spaceId;
    if (space !== undefined) requireRole(who, space, 'owner', 'admin');
    else if (!ownsAny(who)) throw noSuchLetter();
    try {
      await this.server.replay(Number(id));
    } catch (err) {
      throw err instanceof Refusal && err.code.startsWith('eventing.') ? err : failedAgain(err);
    }
    return { id, service: this.service, state: 'replayed' as const };
  }

  #view({ id, streamSeq, createdAt, updatedAt, ...letter }: DeadLetter): DeadLetterView {
    const named = readSubject(letter.subject);
    return {
      ...letter,
      id: String(id),
      service: this.service,
      seq: streamSeq,
      type: named?.type ?? null,
      spaceId: named?.spaceId ?? null,
      entityId: named?.entityId ?? null,
      since: createdAt.toISOString(),
      changedAt: updatedAt.toISOString(),
    };
  }
}

const governed = (who: Identity): string[] =>
  Object.entries(who.spaces).flatMap(([space, role]) => (role === 'member' ? [] : [space]));

const ownsAny = (who: Identity): boolean => who.kind === 'person' && Object.values(who.spaces).includes('owner');

const noSuchLetter = (): Refusal =>
  new Refusal(
    'not-found',
    'eventing.no-dead-letter',
    'There is no such dead letter, or you may not see it. List them first.',
  );

function failedAgain(err: unknown): Refusal {
  if (isInfrastructureFault(err))
    return new Refusal(
      'unavailable',
      'eventing.replay-unavailable',
      'Something that the handler needs is down. Nothing was counted; replay it again once /readyz is well.',
      { cause: err },
    );
  const why = explain(err);
  return new Refusal(
    'unprocessable',
    'eventing.replay-failed',
    `The handler failed again: ${why}. The letter stays dead; mend the cause, then replay it again.`,
    { cause: err, extras: { lastError: why } },
  );
}
