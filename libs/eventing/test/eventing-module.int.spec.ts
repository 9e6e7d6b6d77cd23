import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deadLetterView, type HoldpointEvent, page, STREAM, subjectOf } from '@holdpoint/contracts';
import { createService, DATABASE, DatabaseModule, sha256Hex, Unavailable } from '@holdpoint/runtime';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, type INestApplication, Inject, Injectable, Module } from '@nestjs/common';
import type { AnyDatabase } from '../src/event-context.js';
import {
  type Bus,
  Discard,
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
  const person = (id: string, spaces: object) => ({ id, name: id, spaces, tokenSha256: sha256Hex(id) });
  const people = [
    person('ada', { acme: 'owner' }),
    person('ben', { acme: 'admin' }),
    person('cem', { acme: 'member' }),
    person('dan', { other: 'owner' }),
  ];
  const services = [{ id: 'policy', tokenSha256: sha256Hex('policy') }];
  await writeFile(identities, JSON.stringify({ people, services }), { mode: 0o600 });
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

/** Everybody's token is their name. */
const ask = async (who: string, method: string, path: string) => {
  const response = await fetch(`${await app.getUrl()}/v1/dead-letters${path}`, {
    method,
    headers: { authorization: `Bearer ${who}` },
  });
  return { status: response.status, body: await response.json() };
};
const lettersFor = async (who: string, query = '') =>
  page(deadLetterView).parse((await ask(who, 'GET', query)).body).items;

describe('metrics', () => {
  it('show consumers, outbox and dead letters to anybody, and no content', async () => {
    const text = await (await fetch(`${await app.getUrl()}/metrics`)).text();
    expect(text).toMatch(/^holdpoint_consumer_lag\{consumer="staging__policy_decided"\} 0$/m);
    expect(text).toMatch(/^holdpoint_consumer_pending\{consumer="staging__policy_decided"\} 0$/m);
    expect(text).toMatch(/^holdpoint_outbox_unsent 0$/m);
    expect(text).toMatch(/^holdpoint_outbox_age_seconds 0$/m);
    expect(text).toMatch(/^# TYPE holdpoint_dead_letters gauge$/m);
    expect(text).not.toContain('acme');
  });
});

describe('dead letters over HTTP', () => {
  const poison = async (...faults: unknown[]) => {
    app.get(Staging).faults = faults;
    const verdict = policyDecided(token());
    await publisherOf(policy).publish(verdict);
    return eventually(async () => (await lettersFor('ada')).find((l) => l.entityId === verdict.subject));
  };

  it('are listed with metadata alone, newest first, page by page', async () => {
    const first = await poison(new Discard('of no use'));
    const second = await poison(...Array.from({ length: 5 }, () => new Error('SECRET')));
    expect(second).toMatchObject({
      service: 'staging',
      consumer: 'staging__policy_decided',
      type: 'policy.decided',
      spaceId: 'acme',
      attempts: 5,
      state: 'dead',
      replayable: true,
    });
    expect(JSON.stringify(second)).not.toContain('SECRET');
    expect(Object.keys(second)).not.toContain('body');
    expect((await ask('ben', 'GET', '?limit=1')).body).toMatchObject({ items: [second], nextCursor: second.id });
    expect((await ask('ben', 'GET', `?limit=1&cursor=${second.id}`)).body).toEqual({ items: [first] });
    expect(await lettersFor('ada', '?state=replayed')).toEqual([]);
    expect(await ask('ada', 'GET', '?state=lost')).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'state' }] },
    });
  });

  it('are for owners and admins of the space; one that names no space is for any owner', async () => {
    const letter = await poison(new Discard('of no use'));
    expect(await lettersFor('cem')).toEqual([]);
    expect(await lettersFor('dan')).toEqual([]);
    expect((await ask('cem', 'POST', `/${letter.id}/replay`)).status).toBe(403);
    expect((await ask('dan', 'POST', `/${letter.id}/replay`)).status).toBe(404);
    expect((await ask('policy', 'POST', `/${letter.id}/replay`)).status).toBe(403);
    expect(await lettersFor('policy')).toEqual([]);

    await policy.js.publish('policy.decided.acme.t1.more', 'not an event');
    const stray = await eventually(async () => (await lettersFor('dan'))[0]);
    expect(stray).toMatchObject({ subject: 'policy.decided.acme.t1.more', type: null, spaceId: null });
    expect((await lettersFor('ada')).map((l) => l.id)).toContain(stray.id);
    expect((await lettersFor('ben')).map((l) => l.id)).not.toContain(stray.id);
    expect((await ask('ben', 'POST', `/${stray.id}/replay`)).status).toBe(404);
    expect(await ask('dan', 'POST', `/${stray.id}/replay`)).toMatchObject({ status: 422 });
  });

  it('are handled once more by hand; a second failure is shown and counted, a success ends it', async () => {
    const letter = await poison(new Discard('of no use'));
    app.get(Staging).faults = [new Discard('still of no use')];
    expect(await ask('ben', 'POST', `/${letter.id}/replay`)).toMatchObject({
      status: 422,
      body: { code: 'eventing.replay-failed', lastError: 'Discard: still of no use' },
    });
    const again = (await lettersFor('ada')).find((l) => l.id === letter.id);
    expect(again).toMatchObject({ attempts: 2, state: 'dead', lastError: 'Discard: still of no use' });

    app.get(Staging).faults = [new Unavailable('policy gives no answer')];
    expect(await ask('ben', 'POST', `/${letter.id}/replay`)).toMatchObject({
      status: 503,
      body: { code: 'eventing.replay-unavailable' },
    });
    expect((await lettersFor('ada')).find((l) => l.id === letter.id)).toEqual(again);

    expect(await ask('ben', 'POST', `/${letter.id}/replay`)).toMatchObject({
      status: 200,
      body: { state: 'replayed' },
    });
    await eventually(() => staged(letter.entityId ?? ''));
    expect((await ask('ben', 'POST', `/${letter.id}/replay`)).status).toBe(409);
    expect((await lettersFor('ada', '?state=replayed')).map((l) => l.id)).toEqual([letter.id]);
    expect((await ask('ada', 'POST', '/999999/replay')).status).toBe(404);
  });
});

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
