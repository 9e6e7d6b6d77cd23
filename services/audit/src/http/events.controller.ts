import type { Identity } from '@holdpoint/contracts';
import { Refusal, requireRole, type StreamReply, sendEventStream, WhoNow } from '@holdpoint/runtime';
import { Controller, Get, Headers, Inject, Query, Res } from '@nestjs/common';
import { type AuditConfig, CONFIG } from '../config.js';
import { Tail, type Told } from '../log/tail.js';
import { positionAfter, type TailQuery, tailQuery, typesOf } from './query.js';
import { readableSpaces } from './spaces.js';

const HEARTBEAT_MS = 15_000;

@Controller('v1/events')
export class EventsController {
  #tails = 0;

  constructor(
    private readonly tail: Tail,
    @Inject(CONFIG) private readonly config: AuditConfig,
  ) {}

  /**
   * Server-sent events: each event of the caller's spaces as it is logged, its sequence as id, until the client goes, stops
   * taking them, or may read them no more. Whether it may is asked before each event.
   */
  @Get()
  async follow(
    @Query({ schema: tailQuery }) query: TailQuery,
    @WhoNow() whoNow: () => Promise<Identity>,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: StreamReply,
  ): Promise<void> {
    const spaces = async () => {
      const who = await whoNow();
      if (who.kind !== 'person') requireRole(who, query.space);
      return readableSpaces(who, query.space);
    };
    await spaces();
    if (this.#tails >= this.config.AUDIT_TAILS_MAX)
      throw new Refusal('unavailable', 'audit.too-many-tails', 'Too many follow the events now; try again later.');
    const filter = { types: typesOf(query.type), callId: query.call, runId: query.run };
    const after = positionAfter(query, lastEventId);
    this.#tails++;
    sendEventStream(
      reply,
      (gone) => {
        gone.addEventListener('abort', () => this.#tails--, { once: true });
        return blocks(this.tail.follow(filter, spaces, after, gone));
      },
      { name: 'a tail of the events', patienceMs: this.config.AUDIT_TAIL_PATIENCE_MS },
    );
  }
}

/** @param heartbeatMs how long a client may hear nothing; each heartbeat also tells from where to go on */
export async function* blocks(tail: AsyncIterable<Told>, heartbeatMs = HEARTBEAT_MS): AsyncGenerator<string> {
  let quietSince = Number.NEGATIVE_INFINITY;
  try {
    for await (const { seq, ...told } of tail) {
      if (told.event === null && performance.now() - quietSince < heartbeatMs) continue;
      quietSince = performance.now();
      if (told.event === null) yield `: still here\nid: ${seq}\n\n`;
      else yield `id: ${seq}\nevent: ${told.event.type}\ndata: ${JSON.stringify({ seq, ...told })}\n\n`;
    }
  } catch (err) {
    // The token or the membership is gone: whoever comes back is told so.
    if (!(err instanceof Refusal)) throw err;
  }
}
