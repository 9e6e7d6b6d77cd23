import { type ChainView, type Identity, token } from '@holdpoint/contracts';
import { requireRole, Who } from '@holdpoint/runtime';
import { Controller, Get, Param } from '@nestjs/common';
import { storable } from '../domain/message.js';
import { Stream } from '../log/stream.js';
import { EventLog, type LoggedMessage } from '../store/event-log.js';

type ChainEvent = ChainView['events'][number];

const READS_AT_ONCE = 16;

@Controller('v1')
export class ChainsController {
  constructor(
    private readonly log: EventLog,
    private readonly stream: Stream,
  ) {}

  /** A run's own events, its calls' and those of the tasks that its calls made, in stream order. */
  @Get('runs/:id/chain')
  async ofRun(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<ChainView> {
    return { runId: id, events: await this.#read(await this.log.chainOfRun(id), who) };
  }

  /** Every event of one call and of the task that it made, in stream order. */
  @Get('calls/:id/chain')
  async ofCall(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<ChainView> {
    const chain = await this.log.chainOfCall(id);
    const events = await this.#read(chain, who);
    return { runId: chain.find((m) => m.runId !== null)?.runId ?? 'unknown', events };
  }

  /** The index says which sequences, the stream says what they are, the log has to agree. */
  async #read(logged: LoggedMessage[], who: Identity): Promise<ChainEvent[]> {
    const space = logged[0]?.spaceId ?? undefined;
    requireRole(who, space);
    const own = logged.filter((m) => m.spaceId === space);
    const events: ChainEvent[] = [];
    for (let i = 0; i < own.length; i += READS_AT_ONCE)
      events.push(...(await Promise.all(own.slice(i, i + READS_AT_ONCE).map((m) => this.#event(m)))));
    return events;
  }

  async #event({ seq, subject, bytes }: LoggedMessage): Promise<ChainEvent> {
    const streamed = await this.stream.at(seq);
    if (streamed === null) return { seq, subject, body: bytes.toString('base64'), log: 'absent' };
    const body = Buffer.from(streamed.bytes);
    const equal = body.equals(bytes) && storable(streamed.subject) === subject;
    return { seq, subject: streamed.subject, body: body.toString('base64'), log: equal ? 'equal' : 'different' };
  }
}
