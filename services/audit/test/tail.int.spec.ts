import { readFile, rename, writeFile } from 'node:fs/promises';
import { type ToldEvent, toldEvent } from '@holdpoint/contracts';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { CallMaker, runEvents, World } from './fixture.js';

let world: World;
const urls: string[] = [];
const apps: INestApplication[] = [];
beforeAll(async () => {
  world = await World.open();
  // Whichever instance writes, and whichever is asked.
  for (let i = 0; i < 2; i++) {
    apps.push(await world.start());
    urls.push(world.url);
  }
});
afterAll(() => world.close());

/** What one client hears, as it comes. */
class Listener {
  readonly told: ToldEvent[] = [];
  raw = '';
  status = 0;
  ended = false;
  readonly #gone = new AbortController();

  static async open(query: string, options: { person?: string; lastEventId?: number; instance?: number } = {}) {
    const { person = 'ann', lastEventId, instance = 0 } = options;
    const listener = new Listener();
    const response = await fetch(`${urls[instance]}/v1/events?${query}`, {
      headers: {
        authorization: `Bearer token-of-${person}-0123456789`,
        ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
      },
      signal: listener.#gone.signal,
    });
    listener.status = response.status;
    void listener.#listen(response).catch(() => undefined);
    // The first block says from where: what is published from now on is heard.
    await eventually(() => listener.raw !== '');
    return listener;
  }

  async #listen(response: Response) {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      this.raw += decoder.decode(chunk, { stream: true });
      const whole = this.raw.slice(0, this.raw.lastIndexOf('\n\n') + 2);
      const data = [...whole.matchAll(/^data: (.*)$/gm)].map(([, json]) => toldEvent.parse(JSON.parse(json ?? '')));
      this.told.push(...data.slice(this.told.length));
    }
    this.ended = true;
  }

  close() {
    this.#gone.abort();
  }

  get types() {
    return this.told.map((t) => t.event.type);
  }
}

test('tells each event as it is logged, in stream order, from either instance, without content', async () => {
  const call = new CallMaker(world);
  const listeners = await Promise.all([0, 1].map((instance) => Listener.open(`call=${call.id}`, { instance })));
  await world.publish(await call.proposed('{"to":"bob@example.org"}'), call.verdict('deny'));
  await world.publish(call.executed({ status: 'Denied', reason: 'rule', result: null }));
  for (const listener of listeners) {
    await eventually(() => listener.told.length === 3);
    expect(listener.types).toEqual(['tool.proposed', 'policy.decided', 'tool.executed']);
    const [proposed] = listener.told;
    expect(proposed?.event.data).toMatchObject({ frozen: { sealed: true }, call: { tool: 'Mail' } });
    expect(proposed?.words).toContain('writer asks for Mail.send');
    expect(listener.raw).not.toMatch(/"ct"|bob@example/);
    const seqs = listener.told.map((t) => t.seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    listener.close();
  }
});

test('goes on behind the last id, and misses and repeats nothing over many cut connections', async () => {
  const from = await world.lastSeq();
  const COUNT = 300;
  const publishing = (async () => {
    for (let i = 0; i < COUNT / 3; i++) {
      const { queued, started, completed } = runEvents(`tail-run-${i}`);
      await world.publish(queued, started, completed);
    }
  })();
  const heard: number[] = [];
  for (let turn = 0; heard.length < COUNT; turn++) {
    const listener = await Listener.open('type=run', { lastEventId: heard.at(-1) ?? from, instance: turn % 2 });
    await eventually(() => listener.told.length > 0);
    listener.close();
    heard.push(...listener.told.map((t) => t.seq));
  }
  await publishing;
  expect(heard).toEqual(Array.from({ length: COUNT }, (_, i) => from + 1 + i));
});

test('filters by type, run and space; what is no type is refused', async () => {
  const from = await world.lastSeq();
  const mine = runEvents('tail-mine');
  const other = runEvents('tail-other');
  await world.publish(mine.queued, other.queued, mine.started, other.started);
  const hears = async (query: string, count: number) => {
    const listener = await Listener.open(`${query}&since=${from}`);
    await eventually(() => listener.told.length >= count);
    listener.close();
    return listener.told.map((t) => `${t.event.type} ${t.event.subject}`);
  };
  expect(await hears('run=tail-mine', 2)).toEqual(['run.queued tail-mine', 'run.started tail-mine']);
  expect(await hears('type=run.started&space=acme', 2)).toEqual(['run.started tail-mine', 'run.started tail-other']);
  world.url = urls[0] as string;
  expect((await world.get('/v1/events?type=run.star')).status).toBe(400);
});

test('another space hears nothing, and its name answers as if it were not there', async () => {
  const from = await world.lastSeq();
  const listener = await Listener.open(`since=${from}`, { person: 'eve' });
  const here = await Listener.open(`since=${from}`);
  await world.publish(runEvents('tail-acme').queued);
  await eventually(() => here.told.length === 1);
  expect(listener.told).toEqual([]);
  for (const l of [listener, here]) l.close();
  expect((await world.get('/v1/events?space=acme', 'eve')).status).toBe(404);
  expect((await world.get('/v1/events', 'staging')).status).toBe(403);
});

test('who is a member no more hears no further event, and nobody else is cut off', async () => {
  const file = world.env['HOLDPOINT_IDENTITY_FILE'] as string;
  const before = await readFile(file, 'utf8');
  const identities = JSON.parse(before) as { people: { id: string; spaces: Record<string, string> }[] };
  const put = async (content: string) => {
    await writeFile(`${file}.new`, content, { mode: 0o600 });
    await rename(`${file}.new`, file);
  };
  const eve = identities.people.find((p) => p.id === 'eve');
  if (eve) eve.spaces = { acme: 'member' };
  await put(JSON.stringify(identities));
  const [named, all, ann] = await Promise.all([
    Listener.open('space=acme', { person: 'eve' }),
    Listener.open('', { person: 'eve' }),
    Listener.open('space=acme'),
  ]);
  await world.publish(runEvents('tail-then').queued);
  await eventually(() => [named, all, ann].every((l) => l.told.length === 1));
  await put(before);
  await world.publish(runEvents('tail-now').queued);
  await eventually(() => ann.told.length === 2 && named.ended);
  expect(named.told).toHaveLength(1);
  expect(all.told).toHaveLength(1);
  for (const l of [all, ann]) l.close();
});

test('a service that stops ends its tails first, and is not held up by them', async () => {
  const listener = await Listener.open('', { instance: 1 });
  await apps[1]?.close();
  await eventually(() => listener.ended);
});
