import { DATABASE } from '@holdpoint/runtime';
import { Controller, Get, Inject } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { OnEveryEvent } from '../consumers/on-every-event.js';
import { Stream } from '../log/stream.js';
import { positionOf } from '../store/position.js';
import type { Database } from '../store/schema.js';

@Controller('v1/audit/position')
export class PositionController {
  constructor(
    @Inject(DATABASE) private readonly db: Kysely<Database>,
    private readonly stream: Stream,
    private readonly writer: OnEveryEvent,
  ) {}

  /** How far the log is: it holds every sequence from `firstSeq` to `lastSeq`; `lag` is what the stream has beyond. */
  @Get()
  async position() {
    const position = await positionOf(this.db);
    const { lastSeq: streamSeq } = await this.stream.state();
    const lastSeq = position?.lastSeq ?? 0;
    return {
      firstSeq: position?.firstSeq ?? null,
      lastSeq,
      streamSeq,
      lag: Math.max(0, streamSeq - lastSeq),
      changedAt: position?.changedAt.toISOString() ?? null,
      writer: this.writer.state,
      fault: this.writer.fault,
    };
  }
}
