import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HoldpointEvent, STREAM, subjectOf } from '@holdpoint/contracts';
import { createService, DATABASE, DatabaseModule, Unavailable } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, type INestApplication, Inject, Injectable, Module } from '@nestjs/common';
import type { AnyDatabase } from '../src/event-context.js';
import {
  type Bus,
  deadLetters,
  type EventContext,
  EventingModule,
  EventPublisher,
  FactWaiter,
  JetStreamServer,
  newEvent,
  OnEvent,
  Outbox,
  OutboxRelay,
  StreamReader,
} from '../src/index.js';
import { bringBack, busOf, callStaged, open, policyDecided, publisherOf, token } from './fixture.js';

/** Stages what policy lets wait: consumer, inbox, outbox and relay together. */
@Injectable()
class Staging {
  faults: unknown[] = [];
  constructor(
    @Inject(Outbox) private readonly outbox: Outbox,
    @Inject(OutboxRelay) readonly relay: OutboxRelay,
  ) {}

  async stage(event: HoldpointEvent<'policy.decided'>, ctx: EventContext): Promise<void> {
    const fault = this.faults.shift();
    if (fault) throw fault;
    await ctx.once(async (tx) => {
      await this.outbox.add(
        tx,
        newEvent('call.staged', {
          spaceId: event.spaceid,
          entityId: event.subject,
          causationId: event.id,
          data: callStaged(event.subject).data,
        }),
      );
    });
  }
}

@Controller()
class OnPolicyDecided {
  constructor(private readonly staging: Staging) {}

  @OnEvent('policy.decided.>')
  async handle(event: HoldpointEvent<'policy.decided'>, ctx: EventContext): Promise<void> {
    await this.staging.stage(event, ctx);
  }
}

let world: Awaited<ReturnType<typeof open>>;
let policy: Bus;
let hub: Bus;
let app: INestApplication;

beforeAll(async () => {
  world = await open('staging');
  policy = world.opened.on(await busOf(world.server, 'policy'), (b) => b.close());
  hub = world.opened.on(await busOf(world.server, 'hub'), (b) => b.close());
  const dir = world.opened.on(await mkdtemp(join(tmpdir(), 'eventing-')), (d) => rm(d, { recursive: true }));
  const identities = join(dir, 'identities.json');
  await writeFile(identities, JSON.stringify({ people: [], services: [] }), { mode: 0o600 });
  const { user, pass } = world.server.credentials('staging');

  @Module({
    imports: [
      DatabaseModule.forRoot(world.url),
      EventingModule.forRoot({
        service: 'staging',
        config: { DATABASE_URL: world.url, NATS_URL: world.server.url, NATS_USER: user, NATS_PASSWORD: pass },
        retryMs: () => 20,
      }),
    ],
    controllers: [OnPolicyDecided],
    providers: [Staging],
  })
  class StagingModule {}

  app = await createService({
    name: 'staging',
    module: StagingModule,
    config: { HOST: '127.0.0.1', PORT: 0, HOLDPOINT_IDENTITY_FILE: identities, LOG_LEVEL: 'fatal' },
    strategy: (nest) => nest.get(JetStreamServer),
  });
});
afterAll(async () => {
  await app.close();
  await world.opened.close();
});

const staged = (callId: string) => app.get(StreamReader).last('call.staged', 'acme', callId);
const ready = async () => (await fetch(`${await app.getUrl()}/readyz`)).status;

describe('a service', () => {
  it('gets everything by class and reports bus, outbox and consumers', async () => {
    for (const provided of [StreamReader, EventPublisher, FactWaiter, Outbox, OutboxRelay, JetStreamServer])
      expect(app.get(provided)).toBeInstanceOf(provided);
    await eventually(async () => (await ready()) === 200);
    const body = await (await fetch(`${await app.getUrl()}/readyz`)).json();
    expect(body).toMatchObject({ checks: expect.arrayContaining(['bus', 'consumers', 'outbox']) });
  });

  it('turns an event into a row and the row into an event', async () => {
    const verdict = policyDecided(token());
    await publisherOf(policy).publish(verdict);
    const found = await eventually(() => staged(verdict.subject));
    expect(found.event).toMatchObject({ causationid: verdict.id, subject: verdict.subject });
  });

  it("tells its handlers' faults apart", async () => {
    const staging = app.get(Staging);
    staging.faults = [new Unavailable('down'), new TypeError('a mistake'), new Error('another')];
    const verdict = policyDecided(token());
    await publisherOf(policy).publish(verdict);
    await eventually(() => staged(verdict.subject));
    const letters = await deadLetters.list(app.get<AnyDatabase>(DATABASE), { states: ['recovered', 'failing'] });
    const letter = letters.find((l) => l.subject === subjectOf(verdict));
    expect(letter).toMatchObject({ attempts: 2 });
    await eventually(async () => {
      const [now] = await deadLetters.list(app.get<AnyDatabase>(DATABASE), { states: ['recovered'] });
      return now?.id === letter?.id;
    });
  });

  it('is not ready without its bus, and works on by itself once it is back', async () => {
    await world.server.kill9();
    await eventually(async () => (await ready()) === 503);
    await bringBack(world.server, hub);
    const verdict = policyDecided(token());
    await eventually(() => publisherOf(policy).publish(verdict));
    await eventually(() => staged(verdict.subject), { timeoutMs: 15_000 });
    await eventually(async () => (await ready()) === 200);
  });

  it('sends what it has committed before it ends, and leaves no event in hand', async () => {
    const verdicts = Array.from({ length: 50 }, () => policyDecided(token()));
    for (const verdict of verdicts) await publisherOf(policy).publish(verdict);
    await app.close();
    const rows = await world.db.selectFrom('outbox').select(['event_id', 'sent_at']).execute();
    expect(rows.filter((row) => row.sent_at === null)).toEqual([]);
    const { state } = await hub.request(() => hub.jsm.streams.info(STREAM, { subjects_filter: 'call.staged.>' }));
    expect(Object.keys(state.subjects ?? {})).toHaveLength(rows.length);
  });
});
