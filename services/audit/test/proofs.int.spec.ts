import { createPublicKey, verify } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CHECKPOINT_STREAM, subjectOf } from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import { eventually } from '@holdpoint/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { Edge } from '../src/domain/merkle/edge.js';
import { foldRight, leafHash, nodeHash } from '../src/domain/merkle/hashes.js';
import { parseNote } from '../src/domain/note.js';
import { sha256 } from '../src/log/sha256.js';
import { CallMaker, newSigningKey, runEvents, SPACE, World } from './fixture.js';

let world: World;
let app: INestApplication;
const opens = async () => {
  world = await World.open();
};
const closes = () => world.close();

type Line = Record<string, unknown> & { kind: string };
const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
const bodyOf = (e: Line) => Buffer.from((e['body'] ?? e['bodyBase64']) as string, 'body' in e ? 'utf8' : 'base64');
const leafOf = (e: Line) => leafHash(sha256, e['subject'] as string, bodyOf(e));
const rootOf = (leaves: Uint8Array[]) => Buffer.from(Edge.EMPTY.append(sha256, leaves).edge.root(sha256));

/** Events, one of them twice, and what cannot be read. */
async function publishSome(count: number): Promise<void> {
  const calls = Array.from({ length: count - 4 }, () => new CallMaker(world).started());
  await world.publish(...calls, runEvents(newId()).completed, new CallMaker(world).executed());
  const again = calls[0] as (typeof calls)[number];
  await world.publishRaw('agent-engine', subjectOf(again), JSON.stringify(again));
  await world.publishRaw('policy', `policy.decided.${SPACE}.${newId()}`, Buffer.from([0xef, 0xbb, 0xbf, 0xff]));
  await world.logged(30_000);
}

async function leavesOfLog(): Promise<Uint8Array[]> {
  const rows = await world.db.selectFrom('event_log').select(['subject', 'body']).orderBy('stream_seq').execute();
  return rows.map((row) => leafHash(sha256, row.subject, row.body));
}

/** By nothing of ours. */
function verified(vkey: string, note: string): boolean {
  const [text = '', signatures = ''] = note.split(/(?<=\n)\n/);
  const x = Buffer.from(vkey.split('+').slice(2).join('+'), 'base64').subarray(1).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return [...signatures.matchAll(/^— (\S+) (\S+)$/gm)].some(
    ([, name, blob = '']) =>
      name === vkey.split('+')[0] && verify(null, Buffer.from(text), key, Buffer.from(blob, 'base64').subarray(4)),
  );
}

const keys = async () =>
  (await world.get('/v1/audit/keys')).body as { origin: string; keys: { vkey: string; note?: string }[] };

const published = async () => {
  const notes: string[] = [];
  for (let seq = 1; ; ) {
    const query = { seq, next_by_subj: 'checkpoint.log' };
    const found = await world.hub.jsm.streams.getMessage(CHECKPOINT_STREAM, query as { seq: number });
    if (found === null) return notes;
    notes.push(found.string());
    seq = found.seq + 1;
  }
};
const storedNotes = async () =>
  (await world.db.selectFrom('checkpoints').select('note').orderBy('number').execute()).map((c) => c.note);

describe('checkpoints', () => {
  beforeEach(opens);
  afterEach(closes);

  it('signs the root over everything that was logged, over restarts and for a log that had no tree', async () => {
    const file = join(await world.file('checkpoints.jsonl', '{"kind":"checkpoint","no'));
    app = await world.start({ AUDIT_BATCH_MAX: '37', AUDIT_CHECKPOINT_FILE: file });
    await publishSome(150);
    await world.signed();
    await app.close();
    app = await world.start({ AUDIT_CHECKPOINT_FILE: file });
    await publishSome(150);
    const { root, note } = await world.signed();
    expect(root).toEqual(rootOf(await leavesOfLog()));
    const { origin, keys: known } = await keys();
    expect(known).toHaveLength(1);
    expect(verified(known[0]?.vkey as string, note)).toBe(true);
    expect(note.split('\n').slice(0, 4)).toEqual([origin, '300', root.toString('base64'), 'first 1']);
    expect(await world.text('/v1/audit/checkpoint', 'eve')).toBe(note);
    const tiles = () => world.db.selectFrom('tree_tiles').selectAll().orderBy('level').execute();
    const before = await tiles();
    expect(before).toHaveLength(1);

    await app.close();
    await world.force('TRUNCATE tree_tiles');
    app = await world.start({ AUDIT_CHECKPOINT_FILE: file });
    await publishSome(10);
    expect((await world.signed()).root).toEqual(rootOf(await leavesOfLog()));
    expect(await tiles()).toEqual(before);

    const notes = await storedNotes();
    await eventually(async () => (await published()).length === notes.length);
    expect(await published()).toEqual(notes);
    await eventually(async () => (await readFile(file, 'utf8')).includes(JSON.stringify(notes.at(-1))));
    const kept = (await readFile(file, 'utf8'))
      .split('\n')
      .slice(1, -1)
      .map((l) => JSON.parse(l) as Line);
    expect(kept.filter((k) => k.kind === 'checkpoint').map((k) => k['note'])).toEqual(notes);
  }, 90_000);

  it('checkpoints that the stream did not take are published at the next start, none twice, and by audit alone', async () => {
    await expect(world.publishRaw('policy', 'checkpoint.log', 'forged')).rejects.toThrow();
    app = await world.start();
    await publishSome(5);
    await world.signed();
    await eventually(async () => (await published()).length === (await storedNotes()).length);
    const { config } = await world.hub.jsm.streams.info(CHECKPOINT_STREAM);
    await world.hub.jsm.streams.update(CHECKPOINT_STREAM, { ...config, max_msgs: (await published()).length + 1 });
    for (let i = 0; i < 3; i++) {
      await publishSome(5);
      await world.signed();
    }
    await app.close();
    const notes = await storedNotes();
    expect((await published()).length).toBeLessThan(notes.length);
    await world.hub.jsm.streams.update(CHECKPOINT_STREAM, { ...config, max_msgs: -1 });
    await world.start();
    await eventually(async () => (await published()).length >= notes.length);
    expect(await published()).toEqual(notes);
  }, 60_000);
});

describe('what was signed and the log disagree', () => {
  beforeEach(opens);
  afterEach(closes);

  const halts = (fault: string) =>
    eventually(async () => (await world.get('/v1/audit/position')).body['fault'] === fault, { timeoutMs: 30_000 });
  const stopAfter = async (messages: number) => {
    app = await world.start();
    await publishSome(messages);
    await world.signed();
    await eventually(async () => (await published()).length === (await storedNotes()).length);
    await app.close();
  };

  it('an event was edited → refused, also by what the stream holds when the database fits', async () => {
    await stopAfter(10);
    await world.force(`UPDATE event_log SET body = 'another' WHERE stream_seq = 3`);
    app = await world.start();
    await halts('audit.checkpoint-differs');
    await app.close();
    await world.force('TRUNCATE signing_keys, checkpoints');
    await world.start();
    await halts('audit.checkpoint-differs');
  });

  it('another key → refused, unless the one before vouches for it', async () => {
    await stopAfter(10);
    const before = await world.signed();
    const settings = { AUDIT_SIGNING_KEY_FILE: await world.file('new.key', newSigningKey()) };
    app = await world.start(settings);
    await halts('audit.key-unknown');
    await app.close();
    const previous = world.env['AUDIT_SIGNING_KEY_FILE'];
    app = await world.start({ ...settings, AUDIT_PREVIOUS_KEY_FILE: previous });
    await eventually(async () => (await keys()).keys.length === 2);
    const { origin, keys: [old, next] = [] } = await keys();
    const handOver = await world.text('/v1/audit/checkpoint');
    expect([verified(old?.vkey as string, handOver), verified(next?.vkey as string, handOver)]).toEqual([true, true]);
    expect(parseNote(next?.note as string)?.text).toBe(`${origin}\nkey\n${next?.vkey}\n${before.size}\n`);
    expect(verified(old?.vkey as string, next?.note as string)).toBe(true);
    await publishSome(5);
    const { note } = await world.signed();
    expect([verified(old?.vkey as string, note), verified(next?.vkey as string, note)]).toEqual([false, true]);
    await app.close();
    await world.start();
    await halts('audit.key-unknown');
  }, 60_000);
});

describe('an export', () => {
  beforeAll(async () => {
    await opens();
    app = await world.start();
    const held = new CallMaker(world);
    await world.publish(await held.proposed('{"to":"bob"}'), held.staged());
    await publishSome(300);
    await world.signed();
  });
  afterAll(closes);

  it('of a member is their spaces, each event with its proof, and opened for members alone', async () => {
    const lines = linesOf(await world.text('/v1/audit/export?tool=Mail&content=opened&known=2'));
    const { root } = await world.signed();
    expect(lines[0]).toMatchObject({ filter: { spaces: [SPACE], tool: 'Mail' }, content: 'opened' });
    const events = lines.filter((l) => l.kind === 'event');
    expect(events).toHaveLength(3);
    for (const e of events) expect(climb(e['index'] as number, 302, leafOf(e), e['proof'] as string[])).toEqual(root);
    expect(events[0]?.['opened']).toEqual({ '/data/frozen': '{"to":"bob"}' });
    expect(lines.find((l) => l.kind === 'consistency')).toMatchObject({ from: 2, to: 302 });

    expect(linesOf(await world.text('/v1/audit/export', 'eve')).filter((l) => l.kind === 'event')).toEqual([]);
    expect((await world.get(`/v1/audit/export?space=${SPACE}`, 'eve')).status).toBe(404);
    const audited = linesOf(await world.text(`/v1/audit/export?tool=Mail&content=opened`, 'otto'));
    expect(audited.filter((l) => 'opened' in l)).toEqual([]);

    const { body } = await world.get('/v1/audit/proofs/inclusion?seq=200', 'eve');
    expect(climb(199, 302, Buffer.from(body['leafHash'] as string, 'base64'), body['proof'] as string[])).toEqual(root);
    expect((await world.get('/v1/audit/proofs/inclusion?seq=303')).status).toBe(404);
    const grown = (await world.get('/v1/audit/proofs/consistency?from=256')).body['proof'] as string[];
    const leaves = await leavesOfLog();
    expect(foldRight(sha256, [rootOf(leaves.slice(0, 256)), Buffer.from(grown.at(-1) as string, 'base64')])).toEqual(
      root,
    );
  });

  it('is the whole log with its root, the same in one piece and in two', async () => {
    const whole = await world.text('/v1/audit/export', 'otto');
    const lines = linesOf(whole);
    const events = lines.filter((l) => l.kind === 'event');
    const [header, closing, end] = [lines[0], lines.at(-2), lines.at(-1)];
    expect(header).toMatchObject({
      kind: 'holdpoint-export',
      version: 1,
      first: 1,
      from: 0,
      to: 302,
      size: 302,
      filter: null,
      content: 'sealed',
    });
    expect(events.map((e) => e['index'])).toEqual(Array.from({ length: 302 }, (_, i) => i));
    expect(String(closing?.['note']).split('\n').slice(1, 3)).toEqual([
      '302',
      rootOf(events.map(leafOf)).toString('base64'),
    ]);
    expect(end).toEqual({ kind: 'end', events: 302, entries: 2, receipts: 1 });
    expect(lines.filter((l) => l.kind === 'checkpoint').map((l) => l['note'])).toEqual(await storedNotes());
    expect(lines.filter((l) => 'duplicate' in l || 'fault' in l)).toMatchObject([
      { duplicate: true },
      { fault: 'not-utf8', bodyBase64: '77u//w==' },
    ]);
    const entry = lines.findIndex((l) => l.kind === 'entry');
    expect(lines[entry]).toMatchObject({
      entryKind: 'staging',
      streamSeq: lines[entry - 1]?.['seq'],
      status: 'Staged',
    });

    await publishSome(5);
    await world.signed();
    for (const after of [0, 137, 301]) {
      const begun = whole.split('\n').slice(0, lines.findIndex((l) => l['index'] === after) + 1);
      const derived =
        lines[begun.length]?.kind === 'event' || after === 301 ? [] : [JSON.stringify(lines[begun.length])];
      const rest = await world.text(`/v1/audit/export?size=302&after=${after}`, 'otto');
      expect(`${[...begun, ...derived].join('\n')}\n${rest}` === whole).toBe(true);
    }
  });
});

/** RFC 9162, section 2.1.3.2. */
function climb(index: number, size: number, leaf: Uint8Array, proof: string[]): Buffer {
  let [fn, sn, r] = [index, size - 1, leaf];
  for (const p of proof.map((h) => Buffer.from(h, 'base64'))) {
    if (fn % 2 === 1 || fn === sn) {
      r = nodeHash(sha256, p, r);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >> 1, sn >> 1];
    } else r = nodeHash(sha256, r, p);
    [fn, sn] = [fn >> 1, sn >> 1];
  }
  return Buffer.from(r);
}
