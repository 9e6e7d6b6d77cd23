import type { HoldpointEvent } from '@holdpoint/contracts';
import { Discard, type EventContext, OnEvent, Outbox, type Stored, StreamReader } from '@holdpoint/eventing';
import { ContentDestroyed } from '@holdpoint/runtime';
import { Controller, Inject, Logger } from '@nestjs/common';
import { DEFAULT_EXPIRY } from '../config.js';
import { abandonedFirst, disagreement } from '../domain/admission.js';
import { frozenCallOf } from '../domain/frozen-call.js';
import { callStaged } from '../facts.js';
import { ContentDamaged, FrozenContent } from '../frozen-content.js';
import { nextNumber } from '../store/counters.js';
import { FrozenCalls } from '../store/frozen-calls.js';

type Proposal = Stored<'tool.proposed'>;

/** Holds what policy puts before a person: exactly the bytes of the proposal, once, under the next number of the space. */
@Controller()
export class OnPolicyDecided {
  readonly #log = new Logger('Staging');

  constructor(
    private readonly reader: StreamReader,
    private readonly content: FrozenContent,
    private readonly calls: FrozenCalls,
    private readonly outbox: Outbox,
    @Inject(DEFAULT_EXPIRY) private readonly defaultExpirySeconds: number,
  ) {}

  @OnEvent('policy.decided.>')
  async handle(verdict: HoldpointEvent<'policy.decided'>, ctx: EventContext): Promise<void> {
    if (verdict.data.verdict !== 'approve') return;
    const { spaceid: spaceId, subject: callId } = verdict;

    const proposal = await this.reader.last('tool.proposed', spaceId, callId);
    if (proposal === null) throw new Discard('the proposal is no longer in the stream, so there is nothing to hold');
    const wrong = disagreement({ seq: ctx.seq, event: verdict }, proposal);
    if (wrong !== null) throw this.#alarm(callId, wrong);
    await this.#prove(proposal);

    // The verdict is stored already, so an abandonment that is not there yet can only come to stand after it.
    const abandoned = await this.reader.last('tool.abandoned', spaceId, callId);
    if (abandonedFirst(ctx.seq, abandoned?.seq)) {
      this.#log.log(`call ${callId} was abandoned before its verdict and is not held`);
      return;
    }

    await ctx.once(async (tx) => {
      if (await this.calls.has(tx, callId)) return;
      const row = frozenCallOf(verdict, proposal.event, ctx.seq, await nextNumber(tx, spaceId));
      const staged = await this.calls.stage(tx, row, verdict.data.expiresAfterSeconds ?? this.defaultExpirySeconds);
      await this.outbox.add(tx, callStaged(staged, verdict.id));
    });
  }

  async #prove({ event }: Proposal): Promise<void> {
    const { call, frozen } = event.data;
    try {
      await this.content.argumentsOf({ callId: event.subject, spaceId: event.spaceid, ...call }, frozen);
    } catch (err) {
      if (err instanceof ContentDestroyed) throw new Discard('the content was erased before the call could be held');
      if (err instanceof ContentDamaged) throw this.#alarm(event.subject, err.message);
      throw err;
    }
  }

  #alarm(callId: string, what: string): Discard {
    this.#log.error(`ALARM: call ${callId} is not held: ${what}`);
    return new Discard(what);
  }
}
