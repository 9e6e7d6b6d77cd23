import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newId } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql, type Transaction } from 'kysely';
import { check } from '../../../cli/verify/holdpoint-verify.mjs';
import { Edge } from '../src/domain/merkle/edge.js';
import { leafHash } from '../src/domain/merkle/hashes.js';
import { checkpointText, formatNote } from '../src/domain/note.js';
import { checkpointOf, exportLines } from '../src/log/export.js';
import { sha256 } from '../src/log/sha256.js';
import { SigningKey } from '../src/log/signing-key.js';
import { latestCheckpoint, type StoredCheckpoint } from '../src/store/checkpoints.js';
import type { Database } from '../src/store/schema.js';
import { CallMaker, GUARDED_TABLES, newSigningKey, runEvents, World } from './fixture.js';

type Db = Transaction<Database>;

let world: World;
/** What an auditor kept: the first key, what the service wrote to a file elsewhere as it signed, and an older export. */
let vkey: string;
let kept: string;
let older: string;
/** Sizes of some checkpoints on the way, and the first of them. */
const sizes: number[] = [];
let firstNote: string;

async function publishStories(): Promise<void> {
  const held = new CallMaker(world);
  const auto = new CallMaker(world);
  const run = runEvents(newId());
  const proposed = await held.proposed();
  await world.publish(run.queued, run.started, await auto.proposed(), auto.verdict(), auto.started(), auto.executed());
  await world.publish(proposed, held.verdict('approve'), held.staged(), held.decided(), held.started(true));
  await world.publish(held.executed({ held: true }), run.completed);
  await world.publishRaw('agent-engine', `tool.executed.acme.${held.id}`, JSON.stringify(auto.executed()));
  await world.publishRaw('policy', `policy.decided.acme.${newId()}`, Buffer.from([0xff]));
  await world.publishRaw('agent-engine', `run.completed.acme.${run.completed.subject}`, JSON.stringify(run.completed));
  await world.logged(30_000);
}

async function exported(
  db: Db,
  filter: { spaces: string[] } | null = null,
  known: number | null = null,
): Promise<string> {
  const closing = (await latestCheckpoint(db)) as StoredCheckpoint;
  let text = '';
  const lines = exportLines(db, { closing, filter, open: null, after: null, known }, async () => ({ spaces: [] }));
  for await (const portion of lines) text += portion;
  return text;
}

/** What the verifier says of the log after somebody who may do anything did something to it. Nothing of it stays. */
async function after(
  tamper: (db: Db) => Promise<unknown>,
  options: { older?: boolean; filter?: { spaces: string[] }; kept?: string } = {},
) {
  class Undo extends Error {}
  let text = '';
  const all = world.db.transaction().execute(async (tx) => {
    for (const table of GUARDED_TABLES) await sql`ALTER TABLE ${sql.table(table)} DISABLE TRIGGER ALL`.execute(tx);
    await tamper(tx);
    text = await exported(tx, options.filter, options.filter ? (sizes[0] as number) : null);
    throw new Undo();
  });
  await expect(all).rejects.toBeInstanceOf(Undo);
  const file = await world.file('export.jsonl', text);
  return check({
    file,
    keys: [vkey],
    checkpoints: [options.kept ?? kept],
    against: options.older ? await world.file('older.jsonl', older) : undefined,
  });
}

const run = (db: Db, statement: string) => sql.raw(statement).execute(db);
const seqOf = async (db: Db, type: string, from = 1) => {
  const row = await db
    .selectFrom('event_log')
    .select('stream_seq')
    .where('type', '=', type as 'run.started')
    .where('duplicate', '=', false)
    .where('stream_seq', '>=', from)
    .orderBy('stream_seq')
    .limit(1)
    .executeTakeFirstOrThrow();
  return row.stream_seq;
};

/** Moves everything from `seq` on by one, with all that names it. */
async function shift(db: Db, seq: number, by: 1 | -1): Promise<void> {
  const far = 1_000_000;
  for (const step of [far, by - far])
    for (const [table, column] of [
      ['event_log', 'stream_seq'],
      ['audit_log', 'stream_seq'],
      ['audit_log', 'arguments_seq'],
      ['audit_log', 'note_seq'],
      ['run_receipts', 'stream_seq'],
      ['run_receipts', 'result_seq'],
    ] as const)
      await run(
        db,
        `UPDATE ${table} SET ${column} = ${column} + ${step} WHERE ${column} >= ${step === far ? seq : far}`,
      );
}

/** Signs every checkpoint anew over what the log holds now, with the stolen keys. */
async function signAgain(db: Db): Promise<void> {
  const keys = ['signing.key', 'next.key'].map((name) =>
    SigningKey.fromFile(join(dirname(world.env['AUDIT_SIGNING_KEY_FILE'] as string), name)),
  );
  const rows = await db.selectFrom('event_log').select(['subject', 'body']).orderBy('stream_seq').execute();
  const leaves = rows.map((row) => leafHash(sha256, row.subject, row.body));
  for (const stored of await db.selectFrom('checkpoints').selectAll().execute()) {
    const root = Edge.EMPTY.append(sha256, leaves.slice(0, stored.size)).edge.root(sha256);
    const was = checkpointOf(stored);
    const text = checkpointText({ ...was, root });
    const signers = keys.filter((k) =>
      stored.note.includes(
        `${was.origin} ${Buffer.from(k.sign(was.origin, text).blob.subarray(0, 4)).toString('base64').slice(0, 5)}`,
      ),
    );
    const note = formatNote({ text, signatures: signers.map((k) => k.sign(was.origin, text)) });
    await db
      .updateTable('checkpoints')
      .set({ note, root: Buffer.from(root) })
      .where('number', '=', stored.number)
      .execute();
  }
}

beforeAll(async () => {
  world = await World.open();
  const next = await world.file('next.key', newSigningKey());
  kept = await world.file('kept.jsonl', '');
  let app = await world.start({ AUDIT_CHECKPOINT_FILE: kept });
  for (let i = 0; i < 5; i++) {
    await publishStories();
    sizes.push((await world.signed()).size);
  }
  firstNote = await world.file('first.txt', (await latestCheckpoint(world.db, sizes[0]))?.note as string);
  ({ vkey } = await world.db.selectFrom('signing_keys').select('vkey').executeTakeFirstOrThrow());
  older = await world.db.transaction().execute((tx) => exported(tx));
  for (const table of GUARDED_TABLES)
    await sql.raw(`CREATE TABLE public.backup_${table} AS SELECT * FROM ${table}`).execute(world.db);
  await app.close();
  app = await world.start({
    AUDIT_CHECKPOINT_FILE: kept,
    AUDIT_SIGNING_KEY_FILE: next,
    AUDIT_PREVIOUS_KEY_FILE: world.env['AUDIT_SIGNING_KEY_FILE'],
  });
  for (let i = 0; i < 3; i++) {
    await publishStories();
    sizes.push((await world.signed()).size);
  }
  // enough for a tile of the stored tree
  const noise = () => world.publishRaw('policy', `policy.decided.acme.${newId()}`, '{');
  await Promise.all(Array.from({ length: 160 }, noise));
  await world.logged(30_000);
  sizes.push((await world.signed()).size);
  await app.close();
  await eventually(async () => (await readFile(kept, 'utf8')).includes(`\\n${sizes.at(-1)}\\n`));
}, 120_000);
afterAll(() => world.close());

describe('a superuser tampers with the database (G9)', () => {
  it('nothing was done, and nothing is found', async () => {
    expect(await after(async () => {}, { older: true })).toMatchObject({
      exitCode: 0,
      counts: {},
      entries: 32,
      receipts: 8,
    });
    expect(await after(async () => {}, { filter: { spaces: ['acme'] }, kept: firstNote })).toMatchObject({
      exitCode: 0,
      counts: {},
    });
  });

  const edit = async (db: Db, type = 'run.started') => {
    const seq = await seqOf(db, type, 40);
    await run(
      db,
      `UPDATE event_log SET body = convert_to(replace(convert_from(body, 'UTF8'), '"id"', '"iD"'), 'UTF8') WHERE stream_seq = ${seq}`,
    );
    return seq;
  };
  const noise = `convert_to('{', 'UTF8'), now(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'not-json', false`;
  const cases: [what: string, codes: string[], tamper: (db: Db) => Promise<unknown>][] = [
    [
      'an entry edited',
      ['entry-edited'],
      (db) => run(db, `UPDATE audit_log SET principal_id = 'eve' WHERE kind = 'decision'`),
    ],
    [
      'an entry deleted',
      ['entry-missing'],
      (db) => run(db, `DELETE FROM audit_log WHERE stream_seq = (SELECT min(stream_seq) FROM audit_log)`),
    ],
    [
      'an entry put in',
      ['entry-extra'],
      async (db) => {
        const seq = await seqOf(db, 'run.started');
        await run(
          db,
          `INSERT INTO audit_log SELECT (jsonb_populate_record(a, '{"stream_seq": ${seq}}')).* FROM audit_log a LIMIT 1`,
        );
      },
    ],
    ['a receipt edited', ['receipt-edited'], (db) => run(db, `UPDATE run_receipts SET cost_amount = 0`)],
    [
      'a receipt deleted',
      ['receipt-missing'],
      (db) => run(db, `DELETE FROM run_receipts WHERE stream_seq = (SELECT min(stream_seq) FROM run_receipts)`),
    ],
    ['an event edited', ['edited'], (db) => edit(db)],
    [
      'an event hidden behind a mark',
      ['entry-missing', 'mark-edited'],
      async (db) => {
        const seq = await seqOf(db, 'approval.decided');
        await run(
          db,
          `UPDATE event_log SET duplicate = true WHERE stream_seq = ${seq}; DELETE FROM audit_log WHERE stream_seq = ${seq}`,
        );
      },
    ],
    [
      'an event deleted',
      ['gap'],
      async (db) => run(db, `DELETE FROM event_log WHERE stream_seq = ${await seqOf(db, 'run.started', 40)}`),
    ],
    [
      'an event deleted, and those behind it moved up',
      ['gap'],
      async (db) => {
        const seq = await seqOf(db, 'run.started', 40);
        await run(db, `DELETE FROM event_log WHERE stream_seq = ${seq}`);
        await shift(db, seq, -1);
      },
    ],
    [
      'an event put in',
      ['inserted'],
      async (db) => {
        const seq = await seqOf(db, 'run.started', 40);
        await shift(db, seq, 1);
        await run(db, `INSERT INTO event_log VALUES (${seq}, 'run.odd.acme.x', ${noise})`);
      },
    ],
    [
      'two events swapped',
      ['swapped'],
      async (db) => {
        const [a, b] = [await seqOf(db, 'run.started', 40), await seqOf(db, 'run.queued', 40)];
        await run(
          db,
          `UPDATE event_log SET stream_seq = 999999 WHERE stream_seq = ${a}; UPDATE event_log SET stream_seq = ${a} WHERE stream_seq = ${b}; UPDATE event_log SET stream_seq = ${b} WHERE stream_seq = 999999`,
        );
      },
    ],
    [
      'the tail deleted',
      ['truncated'],
      (db) => run(db, `DELETE FROM event_log WHERE stream_seq > (SELECT max(stream_seq) - 3 FROM event_log)`),
    ],
    [
      'the tail deleted with its checkpoints',
      ['rolled-back'],
      async (db) => {
        for (const [table, column] of [
          ['checkpoints', 'size'],
          ['event_log', 'stream_seq'],
          ['audit_log', 'stream_seq'],
          ['run_receipts', 'stream_seq'],
        ])
          await run(db, `DELETE FROM ${table} WHERE ${column} > ${sizes[6]}`);
      },
    ],
    [
      'an old backup put back',
      ['rolled-back'],
      async (db) => {
        for (const table of GUARDED_TABLES)
          await run(db, `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM public.backup_${table}`);
      },
    ],
    [
      'history rewritten and signed again',
      ['fork'],
      async (db) => {
        await run(
          db,
          `UPDATE event_log SET body = convert_to(replace(convert_from(body, 'UTF8'), 'engine-1', 'engine-2'), 'UTF8') WHERE stream_seq = ${await seqOf(db, 'run.started', 40)}`,
        );
        await signAgain(db);
      },
    ],
    [
      'a checkpoint edited',
      ['bad-signature'],
      (db) =>
        run(
          db,
          `UPDATE checkpoints SET note = replace(note, E'\\n${sizes[2]}\\n', E'\\n${(sizes[2] as number) + 1}\\n')`,
        ),
    ],
  ];
  it.each(cases)('%s: %j', async (...[_what, codes, tamper]) => {
    const report = await after(tamper);
    expect({
      codes: Object.keys(report.counts).sort(),
      exitCode: report.exitCode,
      findings: report.findings,
    }).toMatchObject({ codes: codes.sort(), exitCode: 1 });
  });

  it('what holds no part of the proof changes nothing: the position, and the stored tree in a whole export', async () => {
    const report = await after(async (db) => {
      await run(db, 'UPDATE position SET first_seq = 2, last_seq = 9');
      await run(db, `UPDATE tree_tiles SET hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0))`);
    });
    expect(report).toMatchObject({ exitCode: 0, counts: {} });
  });

  it('a node of the stored tree edited: the proofs of a filtered export do not lead to what was signed', async () => {
    const report = await after(
      (db) => run(db, `UPDATE tree_tiles SET hashes = set_byte(hashes, 320, 255 - get_byte(hashes, 320))`),
      {
        ...{ filter: { spaces: ['acme'] }, kept: firstNote },
      },
    );
    expect(report).toMatchObject({ exitCode: 1, counts: { edited: expect.any(Number) } });
  });

  it('the statement about the new key deleted: what it signed is of an unknown key, unless the statement was kept', async () => {
    const deleted = (db: Db) => run(db, 'DELETE FROM signing_keys WHERE number = 2');
    expect(await after(deleted, { kept: firstNote })).toMatchObject({ counts: { 'unknown-key': expect.any(Number) } });
    expect(await after(deleted)).toMatchObject({ exitCode: 0 });
  });

  it('an older export names the very event', async () => {
    let seq = 0;
    const report = await after(
      async (db) => {
        seq = await edit(db);
      },
      { older: true },
    );
    expect(report.findings).toContainEqual(expect.objectContaining({ code: 'edited', seq, index: seq - 1 }));
  });
});
