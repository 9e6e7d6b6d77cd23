import { type HoldpointEvent, STREAM } from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import {
  CannotRecover,
  eventually,
  rebuildableRows,
  reconcile,
  recoveryOf,
  refill,
  untilQuiet,
} from '@holdpoint/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { approved, decided, executed, runOf, SPACE, World } from './fixture.js';

// Guarantee G2, the stream from the log. The log is written here as audit writes it: every message, byte for byte.

let world: World;
beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

const lines: string[] = [];
const recovery = () => recoveryOf(world.database, world.bus, lines);
const rows = () => rebuildableRows(world.database, 'taskboard');
const last = () =>
  eventually(async () => [(await world.hub.jsm.streams.info(STREAM)).state.last_seq]).then(([seq]) => seq as number);
const messages = async (): Promise<string[]> => {
  const found: string[] = [];
  for (let seq = 1; seq <= (await last()); seq++) {
    const m = await world.hub.jsm.streams.getMessage(STREAM, { seq });
    if (m) found.push(`${m.seq} ${m.subject} ${Buffer.from(m.data).toString('utf8')}`);
  }
  return found;
};
async function log(from: number): Promise<void> {
  for (const message of (await messages()).slice(from - 1)) {
    const [seq, subject, ...body] = message.split(' ');
    const { id, type } = JSON.parse(body.join(' ')) as HoldpointEvent;
    await sql`INSERT INTO audit.event_log (stream_seq, subject, body, stored_at, event_id, type, space_id, duplicate)
      VALUES (${seq}, ${subject}, ${Buffer.from(body.join(' '))}, now(), ${id}, ${type}, ${SPACE}, false)`.execute(
      world.db,
    );
  }
}
const order = async (prompt: string) => {
  const { status, body } = await world.post('/v1/tasks', 'ann', {
    agent: 'writer',
    prompt,
    dueAt: '2100-01-01T00:00:00.000Z',
  });
  expect(status).toBe(201);
  return body['id'] as string;
};
const ready = async () => (await fetch(`${world.url}/readyz`)).status;
/** A held call whose wake-up has run. */
async function play(): Promise<string> {
  const callId = newId();
  await world.publish(approved(callId));
  await world.publish(executed(callId));
  const offer = await eventually(async () => (await world.events('task.ready', `wake-${callId}`))[0]);
  const run = runOf(offer);
  for (const event of [run.queued, run.started, run.completed('ok')]) await world.publish(event);
  await eventually(async () => (await world.task(`wake-${callId}`))?.state === 'done' || undefined);
  return callId;
}

let before: string[];
let tables: Awaited<ReturnType<typeof rows>>;
let end: number;
let unlogged: string;
let gone: HoldpointEvent;
let promised: string;

it('a lost stream: the service publishes nothing to the empty one, says so, and keeps what it promises', async () => {
  for (let i = 0; i < 4; i++) await play();
  await world.publish(decided(newId(), { decision: 'rejected' }));
  await untilQuiet(world.database, world.bus, 'taskboard');
  end = await last();
  await log(1);
  lines.length = 0;
  // What the log has not got yet when the stream is lost: one event of the service's own, one that it had only taken in.
  unlogged = await order('never logged');
  gone = executed(newId(), { held: true });
  await world.publish(approved(gone.subject));
  await world.publish(gone);
  await eventually(async () => world.task(`wake-${gone.subject}`));
  await untilQuiet(world.database, world.bus, 'taskboard');
  before = await messages();
  tables = await rows();

  await world.bus.wipe();
  promised = await order('promised while the stream was away');
  await eventually(async () => (await ready()) === 503 || undefined);
  expect(await last()).toBe(0);
  await expect(refill(recovery())).rejects.toThrow(/taskboard runs/);
});

it('refilled it holds the same bytes under the same sequences; what nobody has any more is named', async () => {
  await world.app.close();
  const { fromLog, lost } = await refill(recovery());
  expect(fromLog).toBe(end);
  const after = await messages();
  expect(after.slice(0, end)).toEqual(before.slice(0, end));
  const events = (all: string[]) => all.map((m) => m.split(' ').slice(1).join(' '));
  // Of what was not logged, the service's own events are there again. The engine's and staging's are not.
  const own = events(before.slice(end)).filter((m) => m.startsWith('task.'));
  expect(events(after.slice(end))).toEqual(own);
  expect(own.some((m) => m.includes(unlogged))).toBe(true);
  expect(lost.length).toBe(2);
  expect(lost.join()).toContain(gone.id);
  // Once more: nothing is left to do.
  await expect(refill(recovery())).resolves.toMatchObject({ fromLog: 0, lost: [] });
  expect(await messages()).toEqual(after);
});

it('the service carries on: nothing is done again, what it had promised comes, and new work is done', async () => {
  const refilled = await last();
  const app = await world.instance();
  world.url = await app.getUrl();
  await eventually(async () => (await world.events('task.created', promised))[0]);
  const callId = await play();
  await untilQuiet(world.database, world.bus, 'taskboard');
  await eventually(async () => (await ready()) === 200 || undefined);
  const added = (await messages()).slice(refilled).map((m) => m.split(' ')[1]);
  const wake = `${SPACE}.wake-${callId}`;
  expect(added.filter((s) => s?.startsWith('task.')).sort()).toEqual(
    [
      `task.created.${SPACE}.${promised}`,
      `task.created.${wake}`,
      `task.ready.${wake}`,
      `task.completed.${wake}`,
    ].sort(),
  );
  const tasks = (all: typeof tables) => all['tasks']?.map((t) => JSON.stringify(t)) ?? [];
  expect(tasks(tables).filter((t) => !tasks(tables).includes(t))).toEqual([]);
  await app.close();
});

it('reconcile names what differs between stream, log and rows, and is silent when nothing does', async () => {
  await log(end + 1);
  lines.length = 0;
  // The wake-up of the execution that was lost stands on an event that nobody has: the rows show it.
  expect({
    found: await reconcile(recovery(), ['taskboard']),
    lines: lines.filter((l) => !/\d+ of \d+ events|: 0 differences/.test(l)),
  }).toEqual({
    found: 1,
    lines: [
      `taskboard: approvals ${gone.subject}: extra`,
      `taskboard: 1 differences; ${await last()} events`,
      '1 differences',
    ],
  });
  await sql`DELETE FROM approvals WHERE call_id = ${gone.subject}`.execute(world.db);
  expect(await reconcile(recovery(), ['taskboard'])).toBe(0);

  await world.db.updateTable('tasks').set({ reason: 'forged' }).where('task_id', '=', unlogged).execute();
  await sql`ALTER TABLE audit.event_log DISABLE TRIGGER USER`.execute(world.db);
  await sql`UPDATE audit.event_log SET body = body || ' '::bytea WHERE stream_seq = 2`.execute(world.db);
  await sql`UPDATE outbox SET seq = 1 WHERE id = (SELECT min(id) FROM outbox)`.execute(world.db);
  lines.length = 0;
  expect(await reconcile(recovery(), ['taskboard'])).toBe(3);
  const said = lines.join('\n');
  expect(said).toMatch(/sequence 2 is .* in the stream and .* in the log, or has another body/);
  expect(said).toMatch(/sequence 1, is lost or stands elsewhere: taskboard published it/);
  expect(said).toContain(`taskboard: tasks ${unlogged}: differs in reason`);
});

it('a stream that holds what the log does not is refused', async () => {
  await world.bus.wipe();
  await world.publish(approved(newId()));
  await expect(refill(recovery())).rejects.toThrow(CannotRecover);
  await expect(refill(recovery())).rejects.toThrow(/another message in the stream than in the log/);
});
