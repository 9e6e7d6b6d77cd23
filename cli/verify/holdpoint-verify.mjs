#!/usr/bin/env node
// @ts-check
//
// holdpoint-verify: checks an export of Holdpoint's audit log, on any machine, with nothing installed but Node 20 or newer:
//
//   node holdpoint-verify.mjs EXPORT --key VKEY [--key VKEY …] [--checkpoint FILE …] [--against OLDER-EXPORT] [--json]
//
// Keep this file, the key and a checkpoint away from the installation that they are to check. It asks nobody, writes nothing,
// and shares no code with the program that writes the log. Everything that it reads is a stranger's word until a signature by
// a key that you gave, or the tree under that signature, bears it out. In this order below: the tree (RFC 9162), signed notes
// (c2sp.org/signed-note, c2sp.org/tlog-checkpoint), what entries and receipts follow from an event, reading, judging, telling.

import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto';
import { createReadStream, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

// ─── the tree ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);
const EMPTY_ROOT = createHash('sha256').digest();

/** @param {Uint8Array} data */
export const hashLeaf = (data) => createHash('sha256').update(LEAF).update(data).digest();

/** @param {Uint8Array} left @param {Uint8Array} right */
export const hashNode = (left, right) => createHash('sha256').update(NODE).update(left).update(right).digest();

/** The leaf of a logged message: length of the subject (32 bits, big end first), subject, body. @param {string} subject @param {Uint8Array} body */
export function leafOf(subject, body) {
  const name = Buffer.from(subject);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(name.length);
  return createHash('sha256').update(LEAF).update(length).update(name).update(body).digest();
}

const half = (/** @type {number} */ n) => Math.floor(n / 2);
const isOdd = (/** @type {number} */ n) => n % 2 === 1;

/** The roots of the complete subtrees that a growing tree consists of: all that it takes to go on and to tell its root. */
export class Frontier {
  size = 0;
  /** @type {Buffer[]} */
  #levels = [];

  /** @param {Buffer} leaf */
  append(leaf) {
    let hash = leaf;
    let level = 0;
    for (let n = this.size; isOdd(n); n = half(n)) hash = hashNode(/** @type {Buffer} */ (this.#levels[level++]), hash);
    this.#levels[level] = hash;
    this.size++;
  }

  root() {
    /** @type {Buffer | null} */
    let root = null;
    let level = 0;
    for (let n = this.size; n > 0; n = half(n), level++)
      if (isOdd(n)) {
        const subtree = /** @type {Buffer} */ (this.#levels[level]);
        root = root === null ? subtree : hashNode(subtree, root);
      }
    return root ?? EMPTY_ROOT;
  }

  copy() {
    const other = new Frontier();
    other.size = this.size;
    other.#levels = [...this.#levels];
    return other;
  }
}

/**
 * The root that an inclusion proof leads to (RFC 9162, 2.1.3.2), or null when its length does not fit index and size.
 * @param {number} index @param {number} size @param {Buffer} leaf @param {readonly Buffer[]} proof
 */
export function rootByInclusion(index, size, leaf, proof) {
  if (index >= size) return null;
  let [fn, sn, hash] = [index, size - 1, leaf];
  for (const sibling of proof) {
    if (sn === 0) return null;
    if (isOdd(fn) || fn === sn) {
      hash = hashNode(sibling, hash);
      while (!isOdd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else hash = hashNode(hash, sibling);
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 ? hash : null;
}

/**
 * Whether a consistency proof shows the one tree to be the beginning of the other (RFC 9162, 2.1.4.2).
 * @param {{ size: number, root: Buffer }} older @param {{ size: number, root: Buffer }} newer @param {readonly Buffer[]} proof
 */
export function isConsistent(older, newer, proof) {
  if (older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root);
  if (older.size === 0) return proof.length === 0 && older.root.equals(EMPTY_ROOT);
  const isPowerOfTwo = Number.isInteger(Math.log2(older.size));
  const [start, ...path] = isPowerOfTwo && proof.length > 0 ? [older.root, ...proof] : proof;
  if (start === undefined) return false;
  let [fn, sn] = [older.size - 1, newer.size - 1];
  while (isOdd(fn)) [fn, sn] = [half(fn), half(sn)];
  let [fr, sr] = [start, start];
  for (const c of path) {
    if (sn === 0) return false;
    if (isOdd(fn) || fn === sn) {
      fr = hashNode(c, fr);
      sr = hashNode(c, sr);
      while (!isOdd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else sr = hashNode(sr, c);
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && fr.equals(older.root) && sr.equals(newer.root);
}

/** Hashes by number, 32 bytes each. */
class Hashes {
  #bytes = Buffer.alloc(32 * 1024);
  length = 0;

  /** @param {number} at @param {Buffer} hash */
  set(at, hash) {
    if ((at + 1) * 32 > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(this.#bytes.length * 2, (at + 1) * 32));
      this.#bytes.copy(grown);
      this.#bytes = grown;
    }
    hash.copy(this.#bytes, at * 32);
    this.length = Math.max(this.length, at + 1);
  }

  /** @param {number} at */
  get(at) {
    return this.#bytes.subarray(at * 32, at * 32 + 32);
  }
}

/** Which leaves have occurred, at four to eight bytes each besides the leaves themselves. */
class Occurred {
  #slots = new Uint32Array(1024);
  #count = 0;
  /** @param {Hashes} leaves */
  constructor(leaves) {
    this.leaves = leaves;
  }

  /** Notes the leaf that is stored under `index`. @param {number} index @returns {boolean} whether it had occurred before */
  add(index) {
    if (this.#count * 2 >= this.#slots.length) this.#grow();
    const leaf = this.leaves.get(index);
    let slot = this.#slotOf(leaf);
    for (; this.#slots[slot] !== 0; slot = this.#next(slot))
      if (this.leaves.get(/** @type {number} */ (this.#slots[slot]) - 1).equals(leaf)) return true;
    this.#slots[slot] = index + 1;
    this.#count++;
    return false;
  }

  #grow() {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    for (const index of old) {
      if (index === 0) continue;
      let slot = this.#slotOf(this.leaves.get(index - 1));
      while (this.#slots[slot] !== 0) slot = this.#next(slot);
      this.#slots[slot] = index;
    }
  }

  #slotOf = (/** @type {Buffer} */ leaf) => leaf.readUInt32LE(0) % this.#slots.length;
  #next = (/** @type {number} */ slot) => (slot + 1) % this.#slots.length;
}

// ─── signed notes, checkpoints, keys ─────────────────────────────────────────────────────────────────────────────────────

/** What cannot be read as what it should be; the message completes "…: ". */
class Malformed extends Error {}

/** @typedef {{ name: string, id: string, vkey: string, key: import('node:crypto').KeyObject, from: number, until: number }} Key */
/** @typedef {{ name: string, id: string, signature: Buffer }} Signature */
/** @typedef {{ kind: string, note: string, path: string, line?: number }} Kept */
/** @typedef {{ text: string, signatures: Signature[] }} Note */
/** @typedef {{ origin: string, size: number, root: Buffer, first: number }} Checkpoint */

/** @param {string} text @returns {Buffer} @throws {Malformed} unless it is base64 in the one canonical spelling */
function base64(text) {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new Malformed('it holds base64 that is none');
  return bytes;
}

/** @param {string} text @returns {number} @throws {Malformed} */
function decimal(text) {
  if (!/^(0|[1-9]\d{0,15})$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new Malformed('a size or sequence in it is no plain number');
  return Number(text);
}

const ED25519 = 1;
const isKeyName = (/** @type {string} */ name) => name !== '' && !/[\s+\p{Z}]/u.test(name) && name.isWellFormed();

/** Reads `<name>+<key id>+<base64 of type and public key>`. @param {string} vkey @returns {Key} @throws {Malformed} */
export function parseKey(vkey) {
  const [, name, id, encoded] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(vkey) ?? [];
  if (!name || !id || !encoded || !isKeyName(name)) throw new Malformed('a key reads <name>+<8 hex digits>+<base64>');
  const bytes = base64(encoded);
  if (bytes.length !== 33 || bytes[0] !== ED25519) throw new Malformed('it is no Ed25519 key');
  const expected = createHash('sha256').update(`${name}\n`).update(bytes).digest('hex').slice(0, 8);
  if (expected !== id) throw new Malformed('its key id does not belong to it: it was copied wrongly');
  const x = bytes.subarray(1).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return { name, id, vkey, key, from: 0, until: Number.MAX_SAFE_INTEGER };
}

/** @param {string} note @returns {Note} @throws {Malformed} */
export function parseNote(note) {
  const split = note.lastIndexOf('\n\n');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a signed note must hold none but the line feed
  if (split === -1 || !note.endsWith('\n') || /[\0-\x09\x0b-\x1f]/.test(note) || !note.isWellFormed())
    throw new Malformed('it is no signed note');
  const lines = note.slice(split + 2, -1).split('\n');
  if (lines.length > 100) throw new Malformed('it is signed more than a hundred times');
  const signatures = lines.map((line) => {
    const [dash, name, encoded, ...more] = line.split(' ');
    if (dash !== '—' || !name || !encoded || more.length > 0 || !isKeyName(name))
      throw new Malformed('a signature line of it is none');
    const bytes = base64(encoded);
    if (bytes.length < 5) throw new Malformed('a signature of it is too short');
    return { name, id: bytes.toString('hex', 0, 4), signature: bytes.subarray(4) };
  });
  return { text: note.slice(0, split + 1), signatures };
}

/** @param {string} text the text of a note @returns {Checkpoint} @throws {Malformed} */
export function parseCheckpoint(text) {
  const [origin, size, root, extension, ...more] = text.slice(0, -1).split('\n');
  const [, first] = /^first (\d+)$/.exec(extension ?? '') ?? [];
  if (!origin || !size || !root || !first || more.length > 0)
    throw new Malformed('a checkpoint has four lines: origin, size, root, and "first" with a sequence');
  const hash = base64(root);
  if (hash.length !== 32) throw new Malformed('its root is no SHA-256');
  return { origin, size: decimal(size), root: hash, first: decimal(first) };
}

/** The keys that are trusted: those given, and those that a trusted key names as its successor. */
export class Keys {
  /** @type {Key[]} */
  trusted = [];
  /** Ids that sign under the log's name before a key that is trusted; whoever was given a later key alone cannot check them. */
  earlier = new Set();

  /** @param {readonly string[]} vkeys @throws {Malformed} */
  constructor(vkeys) {
    for (const vkey of vkeys) if (!this.find(vkey)) this.trusted.push(parseKey(vkey));
  }

  /** @param {string} vkey */
  find(vkey) {
    return this.trusted.find((k) => k.vkey === vkey);
  }

  /** Splits a note's signatures by what is known of their keys. @param {Note} note */
  check({ text, signatures }) {
    /** @type {{ good: Key[], bad: Key[], unknown: Signature[] }} */
    const found = { good: [], bad: [], unknown: [] };
    for (const s of signatures) {
      const key = this.trusted.find((k) => k.name === s.name && k.id === s.id);
      if (!key) found.unknown.push(s);
      else found[verifySignature(null, Buffer.from(text), key.key, s.signature) ? 'good' : 'bad'].push(key);
    }
    return found;
  }
}

// ─── what entries and receipts follow from an event ──────────────────────────────────────────────────────────────────────

/** @typedef {Record<string, any>} Json */
/** What the log holds of a call before an event. @typedef {{ proposal?: number, run?: string | null, verdict?: number, start?: number }} Facts */
/**
 * What should stand behind an event. `unsure`: fields that depend on events which this export need not hold. `maybe`: so does
 * whether it stands there at all.
 * @typedef {{ fields: Json, unsure: string[], maybe: boolean }} Derived
 */

const NOTE_LENGTH = 500;

/** The database holds no NUL. @param {string} text */
const stored = (text) => text.replaceAll('\0', '\ufffd');

/** @param {...(string | false | null | undefined)} parts */
function note(...parts) {
  const text = parts.filter(Boolean).join('; ');
  if (text.length <= NOTE_LENGTH) return stored(text);
  const kept = text.slice(0, NOTE_LENGTH - 1);
  return stored(`${/[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept}…`);
}

/** @param {{ kind: string, id: string }} who */
const nameOf = (who) => (who.kind === 'person' ? who.id : `${who.kind} ${who.id}`);

/**
 * @param {Json} event @param {number} seq @param {string} time @param {Facts} facts
 * @param {boolean} complete whether every earlier event of the log was seen
 * @returns {Derived | null}
 */
function entryOf(event, seq, time, facts, complete) {
  const { data } = event;
  /** @type {(fields: Json) => Derived} */
  const entry = (fields) => {
    const { call } = data;
    const unsure = complete || facts.proposal !== undefined ? [] : ['argumentsSeq', ...(event.runid ? [] : ['runId'])];
    return {
      unsure: unsure.filter((name) => !(name in fields)),
      maybe: false,
      fields: {
        streamSeq: seq,
        eventId: event.id,
        at: time,
        spaceId: event.spaceid,
        runId: event.runid ?? facts.run ?? null,
        taskId: call.taskId ?? null,
        callId: event.subject,
        conversationId: call.conversationId,
        agent: stored(call.agent),
        model: stored(call.model),
        source: call.source,
        principal: { kind: call.principal.kind, id: stored(call.principal.id) },
        server: stored(call.server),
        tool: stored(call.tool),
        action: call.action === null ? null : stored(call.action),
        argumentsSeq: facts.proposal ?? null,
        noteSeq: null,
        ...fields,
      },
    };
  };
  switch (event.type) {
    case 'tool.executed': {
      const { held, reason, cancelled, settledBy, status } = data;
      const words = note(
        held && 'released by a person',
        reason,
        settledBy && `settled by ${nameOf(settledBy)}`,
        cancelled && 'the run was cancelled',
      );
      const fields = { entryKind: 'outcome', status, note: words, ...(data.arguments ? { argumentsSeq: seq } : {}) };
      // cancelled before an effect could begin: no entry
      if (!cancelled || status !== 'Denied' || held || facts.start !== undefined) return entry(fields);
      return complete ? null : { ...entry(fields), maybe: true };
    }
    case 'tool.abandoned': {
      // the first of verdict and abandonment counts
      if (data.reason === 'cancelled' || facts.verdict !== undefined) return null;
      const words =
        data.reason === 'no-verdict' ? 'policy gave no verdict in time' : 'the engine was lost before a verdict';
      return {
        ...entry({ entryKind: 'outcome', status: 'Denied', note: note(data.reason, words) }),
        maybe: !complete,
      };
    }
    case 'call.staged': {
      const flags = data.flags.length > 0 && `flags: ${data.flags.join(', ')}`;
      const words = note(`held as ${event.spaceid}#${data.number}`, data.rule, flags);
      return entry({ entryKind: 'staging', status: 'Staged', note: words });
    }
    case 'approval.decided': {
      const { by, cause, decision, votes, reason } = data;
      const who = by ?? { kind: 'service', id: cause === 'policy-denied' ? 'policy' : 'staging' };
      const voters = votes && `votes: ${votes.map((/** @type {Json} */ v) => v['by']).join(', ')}`;
      return entry({
        entryKind: 'decision',
        source: 'approval',
        principal: { kind: who.kind, id: stored(who.id) },
        status: decision === 'approved' ? 'Ok' : 'Denied',
        note: note(by === null ? decision : `${decision} by ${nameOf(by)}`, cause !== 'person' && cause, voters),
        noteSeq: reason === null ? null : seq,
      });
    }
    default:
      return null;
  }
}

/** @param {Json} event @param {number} seq @param {string} time @param {boolean} complete @returns {Derived} */
function receiptOf({ subject, spaceid, data }, seq, time, complete) {
  const isAmount = /^\d{1,12}(\.\d{1,18})?$/.test(data.cost.amount);
  return {
    unsure: [],
    maybe: !complete,
    fields: {
      streamSeq: seq,
      runId: subject,
      spaceId: spaceid,
      taskId: data.taskId ?? null,
      attempt: data.attempt ?? null,
      conversationId: data.conversationId,
      agent: stored(data.agent),
      model: stored(data.model),
      source: data.source,
      principal: { kind: data.principal.kind, id: stored(data.principal.id) },
      status: data.status,
      reason: data.reason === undefined ? null : stored(data.reason),
      steps: data.steps,
      usage: data.usage,
      cost: isAmount ? data.cost : { amount: '0', known: false },
      resultSeq: data.result === null ? null : seq,
      durationMs: data.durationMs,
      completedAt: time,
    },
  };
}

/** Names of the fields that are not what they should be. @param {Json} line @param {Derived} derived */
function differences(line, { fields, unsure }) {
  return Object.keys(fields).filter((name) => {
    if (unsure.includes(name)) return false;
    // an export may leave out whose conversation it was
    if (name === 'conversationId' && !(name in line)) return false;
    return !isSame(name, line[name] ?? null, fields[name] ?? null);
  });
}

/** @param {string} name @param {any} a @param {any} b @returns {boolean} */
function isSame(name, a, b) {
  if (name === 'at' || name === 'completedAt') return Date.parse(a) === Date.parse(b);
  if (name === 'amount') return typeof a === 'string' && plainAmount(a) === plainAmount(b);
  if (typeof b !== 'object' || b === null) return a === b;
  if (typeof a !== 'object' || a === null) return false;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => isSame(key, a[key], b[key]));
}

/** @param {string} text */
const plainAmount = (text) =>
  text
    .replace(/^0+(?=\d)/, '')
    .replace(/(\.\d*?)0+$/, (_all, /** @type {string} */ kept) => (kept === '.' ? '' : kept));

// ─── findings ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Each code with what to do about it. What it means is said by each finding itself. */
export const CODES = {
  'file-cut-off':
    'Fetch the export again, or let the same command go on where it ended; what is there was checked as far as possible.',
  malformed:
    'Fetch the export again and check it as it came. If it stays so, whoever made it must explain these bytes.',
  gap: 'Ask for the missing events from a backup of the database or from the stream, and who could delete them.',
  edited:
    'Treat this range of the log as not what happened. Compare it with an older export (--against) to learn which event, and with the stream or a backup.',
  inserted:
    'This event never stood there. Ask who could write to the database, and compare with the stream or a backup.',
  swapped: 'The order is not what it was. Compare with the stream or a backup; the events themselves may be genuine.',
  truncated: 'The end of the log is missing. Ask for it from a backup or the stream, and who could delete it.',
  'rolled-back':
    'If this export was made before that checkpoint, fetch a new one. If not, an old backup was restored or the end was deleted together with its checkpoints: what happened since is missing.',
  fork: 'Somebody who has the signing key rewrote history. Keep both files: together they are the evidence. Trust nothing of this log after the last checkpoint that agrees, and replace the key.',
  'bad-signature':
    'Fetch it again. If it stays so, it was altered after it was signed, or was never signed by this key.',
  'unknown-key':
    'Ask the operator, on another way than this export, for the key, or for the statement by which your key names it as its successor.',
  'retired-key':
    'The old key should have signed nothing more. Whoever still has it may be another than the operator: ask them.',
  'wrong-origin': 'Check that export, key and checkpoint belong to the same log.',
  'header-edited': 'Trust the signed checkpoint, not the header. Fetch the export again.',
  misnumbered: 'Its place in the log is what the tree says; the number was altered. Fetch the export again.',
  'mark-edited':
    'Look at this message itself: a mark that does not follow from the log can hide what should have been derived from it.',
  'entry-edited': 'Go by the event, which is proved, not by the entry. Ask who could write to the database.',
  'entry-missing': 'Go by the event, which is proved: this entry was left out. Ask who could write to the database.',
  'entry-extra': 'Disregard this entry: no event bears it out. Ask who could write to the database.',
  'receipt-edited': 'Go by the event, which is proved, not by the receipt. Ask who could write to the database.',
  'receipt-missing':
    'Go by the event, which is proved: this receipt was left out. Ask who could write to the database.',
  'receipt-extra': 'Disregard this receipt: no event bears it out. Ask who could write to the database.',
  'count-differs': 'Lines were added or taken out after the export was made. Fetch it again.',
  'not-compared':
    'Check a whole export against this checkpoint, or one that holds a consistency proof from its size on.',
};

/** @typedef {keyof typeof CODES} Code */
/** @typedef {{ file?: string, line?: number, index?: number, to?: number, seq?: number, fields?: string[] }} Place */
/** @typedef {{ code: Code, message: string } & Place} Finding */

/** As many of one code are told one by one; the others are counted. */
const TOLD = 20;

class Findings {
  /** @type {Finding[]} */
  told = [];
  /** @type {Map<Code, number>} */
  counts = new Map();
  /** What is no finding and should be known. @type {string[]} */
  remarks = [];

  /** @param {Code} code @param {string} message @param {Place} [place] */
  add(code, message, place = {}) {
    const count = (this.counts.get(code) ?? 0) + 1;
    this.counts.set(code, count);
    if (count <= TOLD) this.told.push({ code, message, ...place });
  }

  /** @param {Code} code */
  has(code) {
    return this.counts.has(code);
  }
}

/** What makes checking impossible: nothing is said about the log. */
export class CannotCheck extends Error {}

/** The code that the system gave an error. @param {unknown} error @returns {string | null} */
function codeOf(error) {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : null;
}

// ─── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const LONGEST_LINE = 64 * 1024 * 1024;

/** @param {string} path @returns {AsyncGenerator<{ number: number, bytes: Buffer, ended: boolean }>} */
async function* linesOf(path) {
  /** @type {Buffer[]} */
  let pieces = [];
  let length = 0;
  let number = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      pieces.push(chunk.subarray(from, at));
      yield {
        number: ++number,
        bytes: pieces.length === 1 ? /** @type {Buffer} */ (pieces[0]) : Buffer.concat(pieces),
        ended: true,
      };
      [pieces, length, from] = [[], 0, at + 1];
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > LONGEST_LINE)
      throw new CannotCheck(`Line ${number + 1} of ${path} is longer than any line of an export.`);
  }
  if (length > 0) yield { number: ++number, bytes: Buffer.concat(pieces), ended: false };
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** As whoever read the message for the log did: a byte order mark is no part of the JSON. */
const messageUtf8 = new TextDecoder('utf-8', { fatal: true });

/** @type {Record<string, { needs: string[], may?: string[] }>} */
const SHAPES = {
  'holdpoint-export': { needs: ['version', 'origin', 'first', 'size', 'from', 'to', 'filter', 'content'] },
  key: { needs: ['note'] },
  event: {
    needs: ['index', 'seq', 'time', 'subject'],
    may: ['body', 'bodyBase64', 'duplicate', 'fault', 'proof', 'opened'],
  },
  entry: {
    needs: [
      ...[
        'streamSeq',
        'eventId',
        'at',
        'entryKind',
        'spaceId',
        'runId',
        'taskId',
        'callId',
        'agent',
        'model',
        'source',
      ],
      ...['principal', 'server', 'tool', 'action', 'status', 'note', 'argumentsSeq', 'noteSeq'],
    ],
    may: ['conversationId'],
  },
  receipt: {
    needs: [
      ...[
        'streamSeq',
        'runId',
        'spaceId',
        'conversationId',
        'agent',
        'model',
        'source',
        'principal',
        'attempt',
        'status',
      ],
      ...['reason', 'steps', 'usage', 'cost', 'resultSeq', 'durationMs', 'completedAt'],
    ],
    may: ['taskId', 'eventId'],
  },
  checkpoint: { needs: ['note'] },
  consistency: { needs: ['from', 'to', 'proof'] },
  end: { needs: ['events', 'entries', 'receipts'] },
};

/**
 * One line, as an object whose names are those of its kind.
 * @param {Buffer} bytes @returns {Json} @throws {Malformed}
 */
function parseLine(bytes) {
  let text = '';
  /** @type {unknown} */
  let value;
  try {
    text = strictUtf8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new Malformed('it is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Malformed('it is no JSON object');
  const line = /** @type {Json} */ (value);
  const { kind } = line;
  const shape = typeof kind === 'string' && Object.hasOwn(SHAPES, kind) ? SHAPES[kind] : undefined;
  if (!shape) throw new Malformed(`there is no such kind of line: ${shown(kind)}`);
  for (const name of shape.needs)
    if (!Object.hasOwn(line, name)) throw new Malformed(`a line of kind ${kind} has ${name}`);
  for (const name of Object.keys(line))
    if (name !== 'kind' && !shape.needs.includes(name) && !shape.may?.includes(name))
      throw new Malformed(`a line of kind ${kind} has no ${shown(name)}`);
  // two readers could otherwise see two different things in one line
  if (JSON.stringify(line) !== text)
    throw new Malformed('a name stands in it twice, or something is spelt in another way than an export spells it');
  return line;
}

const isCount = (/** @type {unknown} */ n) => typeof n === 'number' && Number.isSafeInteger(n) && n >= 0;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
const isTime = (/** @type {unknown} */ t) => typeof t === 'string' && TIME.test(t) && !Number.isNaN(Date.parse(t));
const FAULTS = ['broker-headers', 'not-utf8', 'not-json', 'not-an-event'];

/** @param {unknown} proof @returns {Buffer[]} @throws {Malformed} */
function proofOf(proof) {
  if (!Array.isArray(proof) || proof.length > 64) throw new Malformed('its proof is none');
  return proof.map((hash) => {
    if (typeof hash !== 'string' || hash.length !== 44) throw new Malformed('its proof holds what is no hash');
    return base64(hash);
  });
}

/** @param {Json} line @returns {Buffer} @throws {Malformed} */
function bodyOf({ body, bodyBase64 }) {
  if (typeof body === 'string' && bodyBase64 === undefined && body.isWellFormed()) return Buffer.from(body);
  if (typeof bodyBase64 === 'string' && body === undefined) return base64(bodyBase64);
  throw new Malformed('an event has a body, or a bodyBase64');
}

/** Which of the events from `from` to `to` have come, in whatever order their numbers stand in. */
class Numbering {
  /** Ranges that were passed over, both ends included. @type {[number, number][]} */
  missing = [];
  /** Events that stand before their turn. @type {Set<number>} */
  #early = new Set();
  /** A number that was ahead of its turn; the next one tells why. @type {number | null} */
  #ahead = null;

  /** @param {number} next @param {(code: 'swapped' | 'inserted', index: number) => void} tell */
  constructor(next, tell) {
    this.next = next;
    this.tell = tell;
  }

  /** @param {number} index @returns {boolean} false: that number has come already */
  take(index) {
    if (this.#ahead !== null) {
      const ahead = this.#ahead;
      this.#ahead = null;
      if (index === this.next || index === this.next + 1) {
        // that one alone stood in another's place
        this.#early.add(ahead);
        this.tell('swapped', ahead);
        if (index === this.next + 1) this.#miss(this.next, this.next);
        this.next = index;
      } else {
        this.#miss(this.next, ahead - 1);
        this.next = ahead + 1;
      }
    }
    while (this.#early.delete(this.next)) this.next++;
    if (index === this.next) this.next++;
    else if (index > this.next) this.#ahead = index;
    else if (this.#found(index)) this.tell('swapped', index);
    else {
      this.tell('inserted', index);
      return false;
    }
    return true;
  }

  finish() {
    if (this.#ahead !== null) {
      this.#miss(this.next, this.#ahead - 1);
      this.next = this.#ahead + 1;
      this.#ahead = null;
    }
    while (this.#early.delete(this.next)) this.next++;
  }

  get isWhole() {
    return this.missing.length === 0 && this.#ahead === null && this.#early.size === 0;
  }

  /** @param {number} from @param {number} to */
  #miss(from, to) {
    this.missing.push([from, to]);
  }

  /** @param {number} index */
  #found(index) {
    const at = this.missing.findIndex(([from, to]) => from <= index && index <= to);
    const [from, to] = this.missing[at] ?? [0, -1];
    if (at === -1) return false;
    /** @type {[number, number][]} */
    const left = [
      [from, index - 1],
      [index + 1, to],
    ];
    this.missing.splice(at, 1, ...left.filter(([a, b]) => a <= b));
    return true;
  }
}

/** An export as it was read: its leaves and notes, with everything told that one line after another can tell. */
export class Export {
  /** @type {Json} */
  header = {};
  /** By index in an export of everything; in any other in the order of the file, with `indexes`. */
  leaves = new Hashes();
  /** @type {number[]} */
  indexes = [];
  /** Roots that the inclusion proofs lead to, in the order of the file; zeros where a proof does not fit. */
  roots = new Hashes();
  /** Further leaves under a number that has one. @type {{ index: number, leaf: Buffer, line: number }[]} */
  rivals = [];
  /** @type {{ line: number, note: string }[]} */
  keys = [];
  /** @type {{ line: number, note: string }[]} */
  checkpoints = [];
  /** @type {{ line: number, from: number, to: number, proof: Buffer[] }[]} */
  consistency = [];
  /** @type {Json | null} */
  end = null;
  events = 0;
  entries = 0;
  receipts = 0;
  /** Messages marked as unreadable, and those of them that look as if something should have been derived from them. */
  faults = { all: 0, odd: /** @type {number[]} */ ([]) };
  /** Events whose sequence is not `first` plus index. @type {{ index: number, seq: number, line: number }[]} */
  misnumbered = [];
  misnumberedCount = 0;
  numbering = new Numbering(0, () => {});

  #line = 0;
  /** Whether its events carry inclusion proofs, which is whether it is a part of the log. @type {boolean | null} */
  #hasProofs = null;
  /** Lines that could not be read, since the last event and at all. */
  #unread = { since: 0, all: 0 };
  /** @type {{ index: number, entry: Derived | null, receipt: Derived | null } | null} */
  #current = null;
  /** @type {Map<string, Facts>} */
  #facts = new Map();
  /** @type {Set<string>} */
  #runs = new Set();
  #occurred = new Occurred(this.leaves);

  /** @param {string} path @param {Findings} findings @param {string} [label] stands before what is told of it */
  constructor(path, findings, label = '') {
    this.path = path;
    this.findings = findings;
    this.label = label;
  }

  /** Its events are to be all of the log up to `size`, so that the tree can be built again. What the header says is not trusted for it. */
  get isWhole() {
    return this.header['filter'] === null && this.#hasProofs !== true;
  }

  /** Lines of it that could not be read. */
  get unread() {
    return this.#unread.all;
  }

  /** @param {Code} code @param {string} message @param {Place} [place] */
  tell(code, message, place = {}) {
    this.findings.add(code, `${this.label}${message}`, { ...(this.label ? { file: this.path } : {}), ...place });
  }

  /** What it says about new keys. @returns {{ note: string, line: number, tell: Export['tell'] }[]} */
  statements() {
    return this.keys.map((key) => ({ ...key, tell: (code, message, place) => this.tell(code, message, place) }));
  }

  /** @throws {CannotCheck} when it is not there, or no export */
  async read() {
    let isCut = false;
    try {
      for await (const { number, bytes, ended } of linesOf(this.path)) {
        this.#line = number;
        isCut = !ended;
        if (ended) this.#take(bytes);
      }
    } catch (error) {
      const code = codeOf(error);
      if (code !== null) throw new CannotCheck(`${shown(this.path)} cannot be read (${code}).`);
      throw error;
    }
    this.numbering.finish();
    if (isCut || this.end === null) {
      const where = this.#current ? `behind event ${this.#current.index}` : 'before the first event';
      this.tell('file-cut-off', `The file breaks off in line ${this.#line}, ${where}.`, { line: this.#line });
    }
    return this;
  }

  /** @param {Buffer} bytes */
  #take(bytes) {
    try {
      const line = parseLine(bytes);
      if ((this.#line === 1) !== (line['kind'] === 'holdpoint-export'))
        throw new Malformed('an export begins with its header, and has no second one');
      if (this.end !== null) throw new Malformed('it stands behind the end');
      this.#takeLine(line);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      if (this.#line === 1)
        throw new CannotCheck(`${shown(this.path)} is no export that can be checked: ${error.message}.`);
      this.#unread.since++;
      this.#unread.all++;
      this.tell('malformed', `Line ${this.#line} cannot be read: ${error.message}.`, { line: this.#line });
    }
  }

  /** @param {Json} line */
  #takeLine(line) {
    const note = { line: this.#line, note: line['note'] };
    switch (line['kind']) {
      case 'holdpoint-export':
        return this.#takeHeader(line);
      case 'event':
        return this.#takeEvent(line);
      case 'entry':
      case 'receipt':
        return this.#takeDerived(line['kind'], line);
    }
    this.#settle();
    if (line['kind'] === 'end') {
      if (![line['events'], line['entries'], line['receipts']].every(isCount))
        throw new Malformed('its counts are none');
      this.end = line;
    } else if (line['kind'] === 'consistency') {
      if (!isCount(line['from']) || !isCount(line['to'])) throw new Malformed('its sizes are none');
      this.consistency.push({ line: this.#line, from: line['from'], to: line['to'], proof: proofOf(line['proof']) });
    } else if (typeof note.note !== 'string') throw new Malformed('its note is no text');
    else if (line['kind'] === 'key') this.keys.push(note);
    else this.checkpoints.push(note);
  }

  /** @param {Json} line */
  #takeHeader(line) {
    const { version, origin, first, size, from, to, filter, content } = line;
    if (version !== 1) throw new Malformed('this program knows version 1 only; get the one that came with the export');
    if (typeof origin !== 'string' || !isKeyName(origin)) throw new Malformed('its origin is none');
    if (![first, size, from, to].every(isCount) || from > to || to > size)
      throw new Malformed('its sizes make no sense');
    if (typeof filter !== 'object' || Array.isArray(filter)) throw new Malformed('its filter is none');
    if (content !== 'sealed' && content !== 'opened') throw new Malformed('its content is neither sealed nor opened');
    this.header = line;
  }

  #startNumbering() {
    const words = {
      swapped: 'does not stand where its number belongs: lines of the file were swapped or moved.',
      inserted: 'stands under a number that another event has already: a line was put in.',
    };
    this.numbering = new Numbering(this.isWhole ? 0 : this.header['from'], (code, index) =>
      this.tell(code, `Event ${index} (line ${this.#line}) ${words[code]}`, { index, line: this.#line }),
    );
  }

  /** @param {Json} line */
  #takeEvent(line) {
    const { index, seq, time, subject, duplicate, fault, proof } = line;
    if (!isCount(index) || !isCount(seq)) throw new Malformed('its numbers are none');
    if (!isTime(time)) throw new Malformed('its time is none');
    if (typeof subject !== 'string' || !subject.isWellFormed()) throw new Malformed('its subject is no text');
    if (duplicate !== undefined && duplicate !== true) throw new Malformed('duplicate is true where it stands');
    if (fault !== undefined && !FAULTS.includes(fault)) throw new Malformed('there is no such fault');
    if (this.#hasProofs === null) {
      this.#hasProofs = proof !== undefined;
      this.#startNumbering();
    }
    if ((proof !== undefined) !== this.#hasProofs || (proof === undefined && this.header['filter'] !== null))
      throw new Malformed('inclusion proofs stand in an export of a part of the log, and there in each event');
    const body = bodyOf(line);
    const leaf = leafOf(subject, body);
    const path = proof === undefined ? null : proofOf(proof);
    this.#takeOpened(line, body);
    this.#settle();

    const { first, size } = this.header;
    const { next } = this.numbering;
    // of two numbers that disagree, the one that fits counts
    const place = this.header['filter'] === null && seq - first === next ? next : index;
    if (seq - first !== index && ++this.misnumberedCount <= TOLD)
      this.misnumbered.push({ index: place, seq, line: this.#line });
    const isAgain = this.header['filter'] === null ? !this.numbering.take(place) : this.#ascend(place);
    let at = this.events++;
    if (path === null) {
      at = place;
      if (isAgain) this.rivals.push({ index: place, leaf, line: this.#line });
      // a number out of all bounds is told by its gap, and takes no memory
      else if (place < this.events + 1_000_000) this.leaves.set(place, leaf);
    } else {
      this.leaves.set(at, leaf);
      this.indexes.push(place);
      this.roots.set(at, rootByInclusion(place, size, leaf, path) ?? Buffer.alloc(32));
    }
    const isStored = !isAgain && at < this.leaves.length && at < MOST_TOLD_APART;
    const occurred = fault === undefined && isStored && this.#occurred.add(at);
    this.#derive({
      line,
      body,
      seq: this.misnumberedCount === this.events ? seq : first + place,
      place,
      occurred,
      isAgain,
    });
  }

  /** In a filtered export numbers need only ascend. @param {number} place */
  #ascend(place) {
    const { from, to } = this.header;
    const before = this.indexes.at(-1) ?? from - 1;
    const where = { index: place, line: this.#line };
    if (place === before)
      this.tell(
        'inserted',
        `Event ${place} (line ${this.#line}) stands there a second time: a line was put in.`,
        where,
      );
    else if (place < before)
      this.tell(
        'swapped',
        `Event ${place} (line ${this.#line}) stands behind event ${before}: lines were moved.`,
        where,
      );
    if (place < from || place >= to)
      this.tell(
        'inserted',
        `Event ${place} (line ${this.#line}) is none of those that the header says were exported.`,
        where,
      );
    return place === before;
  }

  /** Plaintext is not proved; it must at least belong to a box of the event. @param {Json} line @param {Buffer} body */
  #takeOpened({ opened }, body) {
    if (opened === undefined) return;
    if (this.header['content'] !== 'opened' || typeof opened !== 'object' || opened === null || Array.isArray(opened))
      throw new Malformed('content is opened in exports that say so, by the place of each box');
    const event = readMessage(body);
    for (const pointer of Object.keys(opened)) {
      const names = pointer.split('/').slice(1);
      const box = names.reduce(
        (/** @type {any} */ at, name) => at?.[name.replaceAll('~1', '/').replaceAll('~0', '~')],
        event?.json,
      );
      if (typeof box?.ct !== 'string') throw new Malformed(`there is no box at ${shown(pointer)}`);
    }
  }

  /** @param {{ line: Json, body: Buffer, seq: number, place: number, occurred: boolean, isAgain: boolean }} event */
  #derive({ line, body, seq, place, occurred, isAgain }) {
    const { subject, time, duplicate, fault } = line;
    const where = { index: place, seq, line: this.#line };
    const isComplete = this.isWhole && this.numbering.isWhole && this.#unread.all === 0;
    /** @type {{ index: number, entry: Derived | null, receipt: Derived | null }} */
    const current = { index: place, entry: null, receipt: null };
    this.#current = current;
    const message = readMessage(body);
    const event = message?.json;
    if (fault !== undefined) {
      this.faults.all++;
      const isRight = {
        'broker-headers': true,
        'not-utf8': !message,
        'not-json': message && !('json' in message),
        'not-an-event': message && 'json' in message,
      };
      if (!isRight[/** @type {keyof typeof isRight} */ (fault)])
        this.tell('mark-edited', `Event ${place} is marked ${fault}, which it is not.`, where);
      else if (isAbout(event, subject) && this.faults.odd.length < TOLD && MAKES.test(event.type))
        this.faults.odd.push(place);
      return;
    }
    if (!isAbout(event, subject))
      return this.tell('mark-edited', `Event ${place} is no event, and the mark that says so is missing.`, where);
    if (occurred && duplicate !== true)
      this.tell('mark-edited', `Event ${place} is the copy of an earlier one, and not marked as such.`, where);
    if (!occurred && !isAgain && duplicate === true && isComplete)
      this.tell('mark-edited', `Event ${place} is marked as the copy of an earlier one, and there is none.`, where);
    if (occurred || isAgain || (duplicate === true && !isComplete)) return;
    try {
      const call = `${event.spaceid}/${event.callid}`;
      if (event.type === 'run.completed') {
        if (!this.#runs.has(event.subject)) current.receipt = receiptOf(event, seq, time, isComplete);
        this.#runs.add(event.subject);
      } else if (MAKES.test(event.type))
        current.entry = entryOf(event, seq, time, this.#facts.get(call) ?? {}, isComplete);
      else if (KNOWN.test(event.type)) {
        const facts = this.#facts.get(call) ?? {};
        if (event.type === 'policy.decided') facts.verdict ??= seq;
        else if (event.type === 'tool.started') facts.start ??= seq;
        else if (facts.proposal === undefined) Object.assign(facts, { proposal: seq, run: event.runid ?? null });
        this.#facts.set(call, facts);
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.tell(
        'mark-edited',
        `Event ${place} lacks what such an event has, and the mark that says so is missing.`,
        where,
      );
    }
  }

  /** @param {'entry' | 'receipt'} kind @param {Json} line */
  #takeDerived(kind, line) {
    if (kind === 'entry') this.entries++;
    else this.receipts++;
    const current = this.#current;
    const derived = current?.[kind];
    const where = { line: this.#line, ...(current ? { index: current.index } : {}) };
    if (current && derived) {
      current[kind] = null;
      const fields = differences(line, derived);
      if (fields.length > 0)
        this.tell(
          `${kind}-edited`,
          `The ${kind} of event ${current.index} (sequence ${derived.fields['streamSeq']}, line ${this.#line}) differs from what the event says in: ${fields.join(', ')}.`,
          { ...where, seq: derived.fields['streamSeq'], fields },
        );
    } else if (this.#unread.since === 0)
      this.tell(`${kind}-extra`, `The ${kind} in line ${this.#line} follows from no event before it.`, where);
  }

  /** Whatever the event before should have brought about and did not. */
  #settle() {
    const current = this.#current;
    if (current && this.#unread.since === 0)
      for (const kind of /** @type {const} */ (['entry', 'receipt'])) {
        const derived = current[kind];
        const seq = derived?.fields['streamSeq'];
        if (derived && !derived.maybe)
          this.tell(`${kind}-missing`, `Event ${current.index} (sequence ${seq}) has no ${kind}, and should.`, {
            index: current.index,
            seq,
          });
      }
    if (current) Object.assign(current, { entry: null, receipt: null });
    this.#unread.since = 0;
  }
}

const MOST_TOLD_APART = 2 ** 32 - 2;
const MAKES = /^(tool\.executed|tool\.abandoned|call\.staged|approval\.decided|run\.completed)$/;
const KNOWN = /^(tool\.proposed|policy\.decided|tool\.started)$/;

/** @param {Buffer} body @returns {{ json?: any } | null} null: it is no UTF-8; without `json`: it is no JSON */
function readMessage(body) {
  let text;
  try {
    text = messageUtf8.decode(body);
  } catch {
    return null;
  }
  try {
    return { json: JSON.parse(text) };
  } catch {
    return {};
  }
}

/** @param {any} event @param {string} subject @returns {boolean} whether it is what its subject says */
const isAbout = (event, subject) =>
  typeof event === 'object' && event !== null && `${event.type}.${event.spaceid}.${event.subject}` === subject;

// ─── judging ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A checkpoint whose signature is good. `name` is how it is told of. @typedef {Checkpoint & { name: string, kept: boolean, place: Place }} Signed */

const isOrAre = (/** @type {number} */ n, /** @type {string} */ thing) =>
  n === 1 ? `1 ${thing} is` : `${n} ${thing}s are`;
const eventsOf = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ first) =>
  from === to
    ? `event ${from} (sequence ${first + from})`
    : `events ${from} to ${to} (sequences ${first + from} to ${first + to})`;
const upperFirst = (/** @type {string} */ text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @typedef {{ note: string, line: number, file?: string, tell: (code: Code, message: string, place: Place) => void }} Statement */

class Judge {
  /** Checkpoints under a trusted key that comes before all that were given. */
  unverified = 0;

  /** @param {Keys} keys @param {Findings} findings */
  constructor(keys, findings) {
    this.keys = keys;
    this.findings = findings;
  }

  /**
   * Comes to trust the keys that a trusted key names as its successor.
   * @param {Statement[]} statements @param {string} origin
   */
  follow(statements, origin) {
    /** @type {{ note: Note, origin: string, vkey: string, size: number, tell: (code: Code, message: string) => void }[]} */
    let open = [];
    const seen = new Set();
    for (const { note, line, file, tell: say } of statements)
      if (!seen.has(note)) {
        seen.add(note);
        const tell = (/** @type {Code} */ code, /** @type {string} */ message) =>
          say(code, `The statement about a new key in line ${line} ${message}`, { line, ...(file ? { file } : {}) });
        try {
          const parsed = parseNote(note);
          const [origin, word, vkey, size, ...more] = parsed.text.slice(0, -1).split('\n');
          if (!origin || word !== 'key' || !vkey || !size || more.length > 0) throw new Malformed('it is none');
          parseKey(vkey);
          open.push({ note: parsed, origin, vkey, size: decimal(size), tell });
        } catch (error) {
          if (!(error instanceof Malformed)) throw error;
          tell('malformed', `cannot be read: ${error.message}.`);
        }
      }
    open.sort((a, b) => a.size - b.size);
    for (let before = -1; before !== open.length; ) {
      before = open.length;
      open = open.filter((s) => !this.#followOne(s, origin));
    }
    for (let before = -1; before !== open.length; ) {
      before = open.length;
      open = open.filter(({ note, vkey }) => {
        const isOurs = this.keys.find(vkey) || this.keys.earlier.has(vkey.split('+')[1]);
        if (isOurs) for (const s of note.signatures) if (s.name === origin) this.keys.earlier.add(s.id);
        return !isOurs;
      });
    }
    for (const { tell } of open) tell('unknown-key', 'is signed by no key that you gave or that one of them leads to.');
  }

  /** @param {{ note: Note, origin: string, vkey: string, size: number, tell: (code: Code, message: string) => void }} s @param {string} origin @returns {boolean} whether it is done with */
  #followOne({ note, origin: named, vkey, size, tell }, origin) {
    const { good, bad } = this.keys.check(note);
    const [signer] = good;
    if (bad.length > 0) tell('bad-signature', 'has a signature that does not fit its text.');
    else if (!signer) return false;
    else if (named !== origin || vkey.split('+')[0] !== origin) tell('wrong-origin', `is about ${shown(named)}.`);
    else if (this.keys.find(vkey) === signer) return true;
    else if (signer.until < size)
      tell('fork', `names a second successor of key ${signer.id}: whoever signed it is not who follows it.`);
    else {
      signer.until = size;
      if (!this.keys.find(vkey)) this.keys.trusted.push({ ...parseKey(vkey), from: size });
    }
    return true;
  }

  /**
   * A checkpoint if it is one of this log and a trusted key signed it; tells why not.
   * @param {string} text @param {string} origin @param {string} name @param {boolean} kept @param {Place} place
   * @param {(code: Code, message: string, place: Place) => void} tell
   * @returns {Signed | null}
   */
  signed(text, origin, name, kept, place, tell) {
    const say = (/** @type {Code} */ code, /** @type {string} */ message) =>
      tell(code, `${upperFirst(name)} ${message}`, place);
    try {
      const parsed = parseNote(text);
      const checkpoint = parseCheckpoint(parsed.text);
      const { good, bad, unknown } = this.keys.check(parsed);
      const strange = unknown.filter((s) => s.name === origin && !this.keys.earlier.has(s.id));
      const inTime = good.some((k) => k.from <= checkpoint.size && checkpoint.size <= k.until);
      if (checkpoint.origin !== origin)
        say('wrong-origin', `is of the log ${shown(checkpoint.origin)}, not of ${shown(origin)}.`);
      else if (bad.length > 0) say('bad-signature', 'has a signature that does not fit its text.');
      else if (strange.length > 0)
        say(
          'unknown-key',
          `is signed by a key ${strange.map((s) => s.id).join(', ')}, to which no key that you gave leads.`,
        );
      else if (good.length === 0 && unknown.some((s) => s.name === origin)) this.unverified++;
      else if (good.length === 0) say('unknown-key', 'is signed by no key that you gave or that one of them leads to.');
      else if (!inTime)
        say('retired-key', `is of size ${checkpoint.size} and signed by a key that was not in use then.`);
      else return { ...checkpoint, name, kept, place };
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      say('malformed', `cannot be read: ${error.message}.`);
    }
    return null;
  }

  /**
   * Holds an export against signed checkpoints: its own and `kept` ones.
   * @param {Export} ex @param {Signed[]} kept @param {Export | null} older one that was found to be in order
   */
  judge(ex, kept, older) {
    const { origin } = ex.header;
    const own = ex.checkpoints.map(({ line, note }, i) => {
      const isClosing = ex.end !== null && i === ex.checkpoints.length - 1;
      const name = isClosing ? 'the closing checkpoint' : `the checkpoint in line ${line}`;
      return this.signed(note, origin, name, false, { line }, (...told) => ex.tell(...told));
    });
    const closing = ex.end === null ? null : (own.at(-1) ?? null);
    if (ex.end !== null && own.length === 0)
      ex.tell('count-differs', 'The export has no closing checkpoint: nothing in it is signed.');
    this.#header(ex, closing);
    if (ex.isWhole) this.#whole(ex, closing, [...own.filter((c) => c !== null), ...kept], older);
    else this.#part(ex, closing, kept, older);
    this.#counts(ex);
    return closing;
  }

  /** @param {Export} ex @param {Signed | null} closing */
  #header(ex, closing) {
    const { first, size, from, to } = ex.header;
    const offsets = new Set(ex.misnumbered.map(({ index, seq }) => seq - index));
    const isAll = ex.misnumberedCount === ex.events && offsets.size === 1;
    const isHeader = closing && isAll && offsets.has(closing.first);
    if (!isHeader)
      for (const { index, seq, line } of ex.misnumbered)
        ex.tell(
          'misnumbered',
          `The event in line ${line} has index and sequence (${seq}) that do not belong together.`,
          { index, seq, line },
        );
    if (closing && closing.first !== first)
      ex.tell(
        'header-edited',
        `The header says that the log begins with sequence ${first}; signed is ${closing.first}.`,
        { line: 1 },
      );
    if (closing && closing.size !== size)
      ex.tell('header-edited', `The header says that the log has ${size} events; signed is ${closing.size}.`, {
        line: 1,
      });
    else if (ex.isWhole && ex.events > 0 && (from !== 0 || to !== size))
      ex.tell('header-edited', `The header says that events ${from} to ${to} were exported; they are all.`, {
        line: 1,
      });
  }

  /** @param {Export} ex */
  #counts(ex) {
    if (ex.end === null || ex.unread > 0) return;
    for (const what of /** @type {const} */ (['events', 'entries', 'receipts']))
      if (ex.end[what] !== ex[what])
        ex.tell('count-differs', `The export should have ${ex.end[what]} ${what}, and has ${ex[what]}.`);
  }

  /** @param {Export} ex @param {Signed | null} closing @param {Signed[]} signed @param {Export | null} older */
  #whole(ex, closing, signed, older) {
    const { numbering, leaves } = ex;
    const first = closing?.first ?? ex.header['first'];
    const missing = numbering.missing.toSorted(([a], [b]) => a - b);
    const lacking = missing.reduce((n, [from, to]) => n + to - from + 1, 0);
    if (lacking > ex.unread)
      for (const [from, to] of missing)
        ex.tell('gap', `${upperFirst(eventsOf(from, to, first))} ${from === to ? 'is' : 'are'} missing.`, {
          index: from,
          to,
        });
    const size = Math.min(missing[0]?.[0] ?? numbering.next, leaves.length);
    for (const c of signed)
      if (closing && c.first !== closing.first)
        ex.tell(
          'fork',
          `${upperFirst(c.name)} says that the log begins with sequence ${c.first}, the closing one ${closing.first}: it was begun anew.`,
          c.place,
        );
    this.#behind(ex, closing, signed, first);

    const within = signed.filter((c) => c.size <= size);
    let roots = rootsAt(leaves, within);
    roots = this.#withoutRivals(ex, within, roots);
    const isRight = (/** @type {Signed} */ c) => roots.get(c.size)?.equals(c.root);
    const top = within.filter(isRight).reduce((best, c) => Math.max(best, c.size), 0);
    const wrong = within.filter((c) => !isRight(c)).sort((a, b) => a.size - b.size);
    /** @type {Map<number, Buffer>} */
    const rootBySize = new Map();
    const twofold = new Set();
    for (const c of wrong) {
      const other = rootBySize.get(c.size);
      if (other && !other.equals(c.root)) twofold.add(c.size);
      rootBySize.set(c.size, c.root);
    }
    const best = within.find((c) => c.size === top && isRight(c));
    const keptRight = within.filter((c) => c.kept && isRight(c));
    for (const c of wrong) if (c.size <= top || twofold.has(c.size)) this.#fork(ex, c, best, keptRight, first);
    const differing = older ? this.#compare(ex, older, size, first) : 0;
    const altered = wrong.find((c) => c.size > top);
    const surplus = closing && size > closing.size ? size - closing.size : 0;
    const deficit = closing && missing.length === 0 && ex.end !== null && ex.unread === 0 ? closing.size - size : 0;
    if (altered && differing === 0)
      this.#locate(ex, wrong.slice(wrong.indexOf(altered)), top, size, surplus, deficit, first);
    else if (surplus > 0 && closing && !altered)
      ex.tell(
        'inserted',
        `${upperFirst(eventsOf(closing.size, size - 1, first))} stand behind all that the closing checkpoint covers.`,
        { index: closing.size, to: size - 1 },
      );
    if (deficit > 0 && !altered && closing)
      ex.tell(
        'truncated',
        `The log ends with event ${size - 1}, and ${closing.name} covers ${closing.size}: ${isOrAre(deficit, 'event')} missing at the end${top < size ? `, or behind event ${top - 1}` : ''}.`,
        { index: size, to: closing.size - 1 },
      );
  }

  /** Checkpoints that cover more than this log has. @param {Export} ex @param {Signed | null} closing @param {Signed[]} signed @param {number} first */
  #behind(ex, closing, signed, first) {
    if (!closing) return;
    for (const c of signed)
      if (c.size > closing.size)
        ex.tell(
          c.kept ? 'rolled-back' : 'truncated',
          `${upperFirst(c.name)} covers ${c.size} events, this log ends with ${closing.size}: ${eventsOf(closing.size, c.size - 1, first)} ${c.size - closing.size === 1 ? 'is' : 'are'} not in it.`,
          { ...c.place, index: closing.size, to: c.size - 1 },
        );
  }

  /**
   * What was signed again may agree with the events and still be of another history: only what was kept is of the old one.
   * @param {Export} ex @param {Signed} c @param {Signed | undefined} best @param {Signed[]} keptRight @param {number} first
   */
  #fork(ex, c, best, keptRight, first) {
    const other = best && best.size >= c.size ? best : undefined;
    const last = keptRight.filter((r) => r.size < c.size).reduce((most, r) => Math.max(most, r.size), 0);
    const and = other ? `${other.name} (size ${other.size}), which fits the events here,` : 'another of the same size';
    ex.tell(
      'fork',
      `${upperFirst(c.name)} (size ${c.size}) and ${and} are both signed, and cannot both be true. What they disagree on lies within ${eventsOf(last, c.size - 1, first)}.`,
      { ...c.place, index: last, to: c.size - 1 },
    );
  }

  /**
   * Two lines claim one number: the tree knows which of them is the log's.
   * @param {Export} ex @param {Signed[]} within @param {Map<number, Buffer>} roots
   */
  #withoutRivals(ex, within, roots) {
    const right = (/** @type {Map<number, Buffer>} */ by) =>
      within.filter((c) => by.get(c.size)?.equals(c.root)).length;
    let best = roots;
    for (const { index, leaf } of ex.rivals.slice(0, TOLD)) {
      if (right(best) === within.length) break;
      const before = Buffer.from(ex.leaves.get(index));
      ex.leaves.set(index, leaf);
      const tried = rootsAt(ex.leaves, within);
      if (right(tried) > right(best)) best = tried;
      else ex.leaves.set(index, before);
    }
    return best;
  }

  /**
   * The events from `from` on are not those that the first of `all` was signed over: says how as exactly as the tree allows.
   * @param {Export} ex @param {Signed[]} all @param {number} from @param {number} size @param {number} surplus @param {number} deficit @param {number} first
   */
  #locate(ex, all, from, size, surplus, deficit, first) {
    const wrong = /** @type {Signed} */ (all[0]);
    const to = wrong.size - 1;
    const place = { index: from, to };
    const range = eventsOf(from, to, first);
    const before = from === 0 ? '' : ` All before them is as it was signed.`;
    const swapped = surplus === 0 && deficit === 0 ? findSwapped(ex.leaves, from, size, all) : null;
    if (swapped)
      return ex.tell(
        'swapped',
        `Events ${swapped[0]} and ${swapped[1]} (sequences ${first + swapped[0]} and ${first + swapped[1]}) stand in each other's place: in order they give the root of ${wrong.name}.`,
        { index: swapped[0], to: swapped[1] },
      );
    const run = surplus || 1;
    const inserted = wrong.size + run <= size ? findInserted(ex.leaves, from, size, all, run) : null;
    if (inserted !== null)
      return ex.tell(
        'inserted',
        `${upperFirst(eventsOf(inserted, inserted + run - 1, first))} ${run === 1 ? 'was' : 'were'} put in: without ${run === 1 ? 'it' : 'them'} the others give the root of ${wrong.name}.`,
        { index: inserted, to: inserted + run - 1 },
      );
    if (deficit > 0)
      return ex.tell(
        'gap',
        `${isOrAre(deficit, 'event')} missing, and the others were numbered anew: somewhere in ${range}.${before}`,
        place,
      );
    if (surplus > 0)
      return ex.tell(
        'inserted',
        `${isOrAre(surplus, 'event')} too many: put in somewhere in ${range}.${before}`,
        place,
      );
    ex.tell(
      'edited',
      `${from === to ? upperFirst(range) : `Something in ${range}`} is not what ${wrong.name} was signed over.${before}`,
      place,
    );
  }

  /**
   * Names the events that are not as in an older export. @returns {number} how many
   * @param {Export} ex @param {Export} older @param {number} size @param {number} first
   */
  #compare(ex, older, size, first) {
    if (!older.isWhole) return this.#compareSome(ex, older, first);
    const words = {
      edited: 'is not what stood there when the older export was made.',
      inserted: 'was put in after the older export was made.',
      gap: 'of the older export was taken out.',
      swapped: 'stood in another place when the older export was made.',
    };
    let count = 0;
    for (const { code, index, at } of compareLeaves(
      ex.leaves,
      size,
      older.leaves,
      Math.min(older.leaves.length, older.header['size']),
    )) {
      count++;
      ex.tell(
        code,
        `${upperFirst(eventsOf(index, index, first))} ${words[code]}${at === undefined ? '' : ` It was event ${at}.`}`,
        { index, seq: first + index },
      );
    }
    return count;
  }

  /** @param {Export} ex @param {Export} older @param {number} first */
  #compareSome(ex, older, first) {
    const leaf = leavesByIndex(ex);
    let count = 0;
    for (const [index, before] of leavesByIndex(older)) {
      const now = leaf.get(index);
      if (!now || now.equals(before)) continue;
      count++;
      ex.tell(
        'edited',
        `${upperFirst(eventsOf(index, index, first))} is not what stood there when the older export was made.`,
        { index, seq: first + index },
      );
    }
    return count;
  }

  /**
   * A part of the log: each event has its proof, and older checkpoints theirs if they are there.
   * @param {Export} ex @param {Signed | null} closing @param {Signed[]} kept @param {Export | null} older
   */
  #part(ex, closing, kept, older) {
    const first = closing?.first ?? ex.header['first'];
    if (ex.header['filter'] === null) {
      for (const [from, to] of ex.numbering.missing)
        if (ex.unread === 0)
          ex.tell('gap', `${upperFirst(eventsOf(from, to, first))} ${from === to ? 'is' : 'are'} missing.`, {
            index: from,
            to,
          });
      const { to } = ex.header;
      if (ex.end !== null && ex.numbering.next < to && ex.unread === 0)
        ex.tell(
          'truncated',
          `${upperFirst(eventsOf(ex.numbering.next, to - 1, first))} should stand at the end and are missing.`,
          { index: ex.numbering.next, to: to - 1 },
        );
    }
    if (older) this.#compareSome(ex, older, first);
    if (!closing) return;
    for (const [i, index] of ex.indexes.entries())
      if (!ex.roots.get(i).equals(closing.root))
        ex.tell(
          'edited',
          `${upperFirst(eventsOf(index, index, first))}, or the proof that goes with it, is not what the closing checkpoint was signed over.`,
          { index, seq: first + index },
        );
    this.#behind(ex, closing, kept, first);
    for (const c of kept) {
      const lines = ex.consistency.filter((l) => l.from === c.size && l.to === closing.size);
      if (c.first !== closing.first || (c.size === closing.size && !c.root.equals(closing.root)))
        ex.tell('fork', `${upperFirst(c.name)} and the closing one are both signed, and cannot both be true.`, c.place);
      else if (c.size >= closing.size || c.size === 0) continue;
      else if (lines.length === 0)
        ex.tell(
          'not-compared',
          `${upperFirst(c.name)} (size ${c.size}) cannot be compared: this export holds a part of the log and no consistency proof from that size on.`,
          c.place,
        );
      else if (!lines.every((l) => isConsistent(c, closing, l.proof)))
        ex.tell(
          'fork',
          `${upperFirst(c.name)} (size ${c.size}) is not shown to be the beginning of this log: history was rewritten and signed again, or the consistency proof was altered.`,
          { ...c.place, index: 0, to: c.size - 1 },
        );
    }
  }
}

/** @param {Hashes} leaves @param {readonly { size: number }[]} at @returns {Map<number, Buffer>} roots by size */
function rootsAt(leaves, at) {
  const wanted = new Set(at.map((c) => c.size));
  const most = Math.max(0, ...wanted);
  const tree = new Frontier();
  const roots = new Map(wanted.has(0) ? [[0, tree.root()]] : []);
  for (let i = 0; i < most; i++) {
    tree.append(leaves.get(i));
    if (wanted.has(i + 1)) roots.set(i + 1, tree.root());
  }
  return roots;
}

/** How many guesses are tried before something is called edited: some seconds. */
const GUESSES = 50_000;

/**
 * Two events that give the signed roots once they have changed places: any two of a short range, neighbours in a longer one.
 * @param {Hashes} leaves @param {number} from @param {number} end @param {Signed[]} wrong @returns {[number, number] | null}
 */
function findSwapped(leaves, from, end, wrong) {
  const { size, root } = /** @type {Signed} */ (wrong[0]);
  const length = size - from;
  if (length > GUESSES) return null;
  const reach = Math.max(1, Math.floor(GUESSES / length));
  /** @type {Buffer[][]} */
  const levels = [Array.from({ length: size }, (_, i) => leaves.get(i))];
  for (let level = /** @type {Buffer[]} */ (levels[0]); level.length > 1; levels.push(level)) {
    const below = level;
    level = Array.from({ length: Math.ceil(below.length / 2) }, (_, i) => parentOf(below[2 * i], below[2 * i + 1]));
  }
  for (let i = from; i < size; i++)
    for (let j = i + 1; j < end && j <= i + reach; j++) {
      const guess = new Map([[i, leaves.get(j)]]);
      if (j < size) guess.set(j, leaves.get(i));
      const places = new Map([
        [i, j],
        [j, i],
      ]);
      if (rootWith(levels, guess).equals(root) && fits(leaves, wrong, end, (at) => places.get(at) ?? at)) return [i, j];
    }
  return null;
}

/**
 * Whether the leaves, taken from other places, give the last of the signed roots as well.
 * @param {Hashes} leaves @param {Signed[]} signed @param {number} end places there are @param {(at: number) => number} placeOf
 */
function fits(leaves, signed, end, placeOf) {
  const last = signed.findLast((c) => c.size === signed[0]?.size || placeOf(c.size - 1) < end);
  const tree = new Frontier();
  for (let at = 0; last && at < last.size; at++) tree.append(leaves.get(placeOf(at)));
  return last !== undefined && tree.root().equals(last.root);
}

/** @param {Buffer | undefined} left @param {Buffer | undefined} right @returns {Buffer} */
const parentOf = (left, right) =>
  right === undefined ? /** @type {Buffer} */ (left) : hashNode(/** @type {Buffer} */ (left), right);

/** @param {Buffer[][]} levels @param {Map<number, Buffer>} changed leaves @returns {Buffer} */
function rootWith(levels, changed) {
  for (const level of levels.slice(0, -1)) {
    const above = new Map();
    for (const i of changed.keys()) {
      const [l, r] = [2 * half(i), 2 * half(i) + 1];
      above.set(half(i), parentOf(changed.get(l) ?? level[l], changed.get(r) ?? level[r]));
    }
    changed = above;
  }
  return /** @type {Buffer} */ (changed.get(0));
}

/**
 * Where a run of events was put in: without it those that follow give the signed roots.
 * @param {Hashes} leaves @param {number} from @param {number} end @param {Signed[]} wrong @param {number} run @returns {number | null}
 */
function findInserted(leaves, from, end, wrong, run) {
  const { size, root } = /** @type {Signed} */ (wrong[0]);
  if ((size - from) ** 2 > 40 * GUESSES) return null;
  const tree = new Frontier();
  for (let i = 0; i < from; i++) tree.append(leaves.get(i));
  for (let at = from; at < size; at++) {
    const without = tree.copy();
    for (let i = at + run; i < size + run; i++) without.append(leaves.get(i));
    if (without.root().equals(root) && fits(leaves, wrong, end, (i) => (i < at ? i : i + run))) return at;
    tree.append(leaves.get(at));
  }
  return null;
}

/** @param {Export} ex @returns {Map<number, Buffer>} */
function leavesByIndex(ex) {
  const length = ex.isWhole ? ex.leaves.length : ex.indexes.length;
  return new Map(
    Array.from({ length }, (_, i) => [ex.isWhole ? i : /** @type {number} */ (ex.indexes[i]), ex.leaves.get(i)]),
  );
}

/**
 * What became of the events of an older log in a newer one, in order.
 * @param {Hashes} now @param {number} size @param {Hashes} before @param {number} sizeBefore
 * @returns {Generator<{ code: 'edited' | 'inserted' | 'gap' | 'swapped', index: number, at?: number }>}
 */
function* compareLeaves(now, size, before, sizeBefore) {
  let start = 0;
  while (start < Math.min(size, sizeBefore) && now.get(start).equals(before.get(start))) start++;
  if (start === sizeBefore || start === size) return;
  const keyOf = (/** @type {Buffer} */ hash) => hash.toString('latin1');
  const placesOf = (/** @type {Hashes} */ leaves, /** @type {number} */ end) => {
    const places = new Map();
    for (let i = end - 1; i >= start; i--) places.set(keyOf(leaves.get(i)), i);
    return places;
  };
  const [isNow, wasBefore] = [placesOf(now, size), placesOf(before, sizeBefore)];
  const moved = new Set();
  for (let [i, j] = [start, start]; i < size && j < sizeBefore; ) {
    const [a, b] = [now.get(i), before.get(j)];
    const was = wasBefore.get(keyOf(a));
    const stays = isNow.has(keyOf(b));
    if (a.equals(b)) [i, j] = [i + 1, j + 1];
    else if (was === undefined && stays) yield { code: 'inserted', index: i++ };
    else if (was !== undefined && !stays) yield { code: 'gap', index: j++ };
    else {
      if (was === undefined) yield { code: 'edited', index: i };
      else if (!moved.has(was)) yield { code: 'swapped', index: i, at: was };
      moved.add(i);
      [i, j] = [i + 1, j + 1];
    }
  }
}

// ─── telling ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{M}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\\"]|(?! )\p{Zs}/gu;

/** A stranger's text, in quotation marks, cut, and with everything that could steer or deceive written out. @param {unknown} text @returns {string} */
function shown(text) {
  const whole = typeof text === 'string' ? text : (JSON.stringify(text) ?? 'nothing');
  const cut = [...whole.slice(0, 200)].slice(0, 80).join('');
  const safe = cut.replace(HIDDEN, (ch) => `\\u{${/** @type {number} */ (ch.codePointAt(0)).toString(16)}}`);
  return `"${safe}${cut.length < whole.length ? '…' : ''}"`;
}

/**
 * @typedef {{ file: string, keys: string[], checkpoints?: string[], against?: string | undefined }} Asked
 * @typedef {{ verdict: 'clean' | 'found' | 'cannot-check', exitCode: 0 | 1 | 2, file: string, origin?: string, first?: number,
 *   size?: number, from?: number, to?: number, whole?: boolean, events?: number, entries?: number, receipts?: number, root?: string | null,
 *   checkpoints?: { own: number, kept: number }, keys?: string[], remarks: string[], findings: Finding[], counts: Record<string, number>, problem?: string }} Report
 */

/**
 * Checks one export. Never throws for what a file holds.
 * @param {Asked} asked @returns {Promise<Report>}
 */
export async function check(asked) {
  const findings = new Findings();
  const report = { file: asked.file, remarks: findings.remarks, findings: findings.told };
  try {
    const told = await examine(asked, findings);
    const isClean = findings.told.length === 0;
    // a comparison that was asked for and could not be made is no clean bill
    const isOpen = !isClean && findings.told.every((f) => f.code === 'not-compared');
    return {
      verdict: isClean ? 'clean' : isOpen ? 'cannot-check' : 'found',
      exitCode: isClean ? 0 : isOpen ? 2 : 1,
      ...report,
      ...told,
      counts: Object.fromEntries(findings.counts),
    };
  } catch (error) {
    if (!(error instanceof CannotCheck)) throw error;
    const counts = Object.fromEntries(findings.counts);
    return { verdict: 'cannot-check', exitCode: 2, ...report, counts, problem: error.message };
  }
}

/** @param {Asked} asked @param {Findings} findings */
async function examine({ file, keys: given, checkpoints = [], against }, findings) {
  if (given.length === 0)
    throw new CannotCheck(
      'No key was given. Give the --key that you keep: one that comes along with the export proves nothing.',
    );
  const keys = keysOf(given);
  const notes = checkpoints.flatMap(keptIn);
  const ex = await new Export(file, findings).read();
  const older = against === undefined ? null : await new Export(against, findings, 'Older export: ').read();

  const { origin, first, size, from, to } = ex.header;
  const told = {
    origin,
    first,
    size,
    from,
    to,
    whole: ex.isWhole,
    events: ex.events,
    entries: ex.entries,
    receipts: ex.receipts,
  };
  const names = [...new Set(keys.trusted.map((k) => k.name))];
  if (!names.includes(origin)) {
    ex.tell(
      'wrong-origin',
      `The export is of the log ${shown(origin)}, your key of ${names.map(shown).join(', ')}. Nothing else was compared.`,
      { line: 1 },
    );
    return told;
  }
  const judge = new Judge(keys, findings);
  const isSame = older?.header['origin'] === origin;
  const tell = (/** @type {Code} */ code, /** @type {string} */ message, /** @type {Place} */ place) =>
    findings.add(code, message, place);
  const statements = notes
    .filter((n) => n.kind === 'key')
    .map(({ note, path, line }) => ({ note, line: line ?? 1, file: path, tell }));
  judge.follow([...ex.statements(), ...(older && isSame ? older.statements() : []), ...statements], origin);
  /** @type {Signed[]} */
  const kept = notes.flatMap(({ kind, note, path, line }) => {
    if (kind !== 'checkpoint') return [];
    const name = `the kept checkpoint ${shown(path)}${line === undefined ? '' : `, line ${line},`}`;
    return judge.signed(note, origin, name, true, { file: path, ...(line === undefined ? {} : { line }) }, tell) ?? [];
  });
  const before = findings.told.length;
  const isOlderRead = older && !findings.told.some((f) => f.file === older.path);
  if (older && !isSame)
    older.tell('wrong-origin', `It is of the log ${shown(older.header['origin'])}, not of ${shown(origin)}.`);
  const closingOlder = older && isSame ? judge.judge(older, [], null) : null;
  const usable = isOlderRead && closingOlder && findings.told.length === before ? older : null;
  if (usable && closingOlder && ex.isWhole)
    kept.push({
      ...closingOlder,
      kept: true,
      name: 'the closing checkpoint of the older export',
      place: { file: usable.path },
    });
  if (older && !usable) older.tell('not-compared', 'It is not in order itself, so nothing was compared with it.');
  const closing = judge.judge(ex, kept, usable);
  remark(ex, judge, findings);
  return {
    ...told,
    root: closing?.root.toString('base64') ?? null,
    checkpoints: { own: ex.checkpoints.length, kept: kept.length },
    keys: keys.trusted.map((k) => `${k.name}+${k.id}`),
  };
}

/** @param {string[]} given keys, or files that hold one a line */
function keysOf(given) {
  const vkeys = given.flatMap((text) => {
    if (/^[^+\s]+\+[0-9a-f]{8}\+/.test(text)) return text.trim();
    return textOf(text, `${shown(text)} is no key, and no file that holds one`)
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => line.trim());
  });
  try {
    return new Keys(vkeys);
  } catch (error) {
    if (error instanceof Malformed) throw new CannotCheck(`The key cannot be used: ${error.message}.`);
    throw error;
  }
}

/** @param {string} path @param {string} otherwise */
function textOf(path, otherwise) {
  try {
    return strictUtf8.decode(readFileSync(path));
  } catch (error) {
    throw new CannotCheck(`${otherwise} (${codeOf(error)}).`);
  }
}

/**
 * Checkpoints as they were kept: one signed note, or JSON in lines that have a note each, as the service itself writes them.
 * @param {string} path @returns {Kept[]}
 */
function keptIn(path) {
  const text = textOf(path, `The checkpoint ${shown(path)} cannot be read`);
  // a line feed at the end is lost when a note is copied from a screen, and is not signed
  if (!text.startsWith('{')) return [{ kind: 'checkpoint', note: text.endsWith('\n') ? text : `${text}\n`, path }];
  const kept = text.split('\n').flatMap((line, i) => {
    try {
      const { kind = 'checkpoint', note } = JSON.parse(line);
      return typeof note === 'string' ? { kind, note, path, line: i + 1 } : [];
    } catch {
      return []; // torn when a machine stopped; the next line has the same or more
    }
  });
  if (kept.length === 0) throw new CannotCheck(`There is no checkpoint in ${shown(path)}.`);
  return kept;
}

/** @param {Export} ex @param {Judge} judge @param {Findings} findings */
function remark(ex, judge, findings) {
  const { remarks } = findings;
  if (judge.unverified > 0)
    remarks.push(
      `${isOrAre(judge.unverified, 'checkpoint')} signed by an earlier key that you did not give, and not checked.`,
    );
  if (ex.faults.all > 0)
    remarks.push(
      `${isOrAre(ex.faults.all, 'message')} in the log that nobody could read as an event; nothing was derived from them.`,
    );
  if (ex.faults.odd.length > 0)
    remarks.push(
      `Of these, look at event ${ex.faults.odd.join(', ')} yourself: they look as if an entry or a receipt should follow from them.`,
    );
  if (ex.header['content'] === 'opened') remarks.push('What was opened is not proved: the sealed boxes are.');
  if (!ex.isWhole)
    remarks.push('This is a part of the log: what is in it is proved, and not that nothing was left out.');
}

/** @param {Report} report @returns {string[]} */
export function linesOfReport(report) {
  const lines = [];
  const { findings, counts } = report;
  if (report.origin !== undefined) {
    lines.push(`log         ${shown(report.origin)}`);
    lines.push(
      `events      ${report.events} of ${report.size}${report.whole ? '' : ' (a part)'}, ${report.entries} entries, ${report.receipts} receipts`,
    );
  }
  if (report.checkpoints)
    lines.push(`checkpoints ${report.checkpoints.own} of its own, ${report.checkpoints.kept} kept elsewhere`);
  if (report.root) lines.push(`root        ${report.root}`);
  for (const code of new Set(findings.map((f) => f.code))) {
    const of = findings.filter((f) => f.code === code);
    lines.push('', code, ...of.map((f) => `  ${f.message}`));
    const more = (counts[code] ?? of.length) - of.length;
    if (more > 0) lines.push(`  … and ${more} more.`);
    lines.push(`  What to do: ${CODES[code]}`);
  }
  if (report.remarks.length > 0) lines.push('', ...report.remarks.map((text) => `Note: ${text}`));
  if (lines.length > 0) lines.push('');
  return [...lines, verdictOf(report)];
}

/** @param {Report} report */
function verdictOf({ verdict, problem, counts, checkpoints }) {
  const number = Object.values(counts).reduce((sum, n) => sum + n, 0);
  if (verdict === 'found')
    return `FOUND: ${number === 1 ? '1 thing that is' : `${number} things that are`} not as it was signed (${Object.keys(counts).join(', ')}).`;
  if (verdict === 'cannot-check') return `CANNOT CHECK: ${problem ?? 'what was asked for could not be compared.'}`;
  return checkpoints?.kept === 0
    ? 'CLEAN, as far as it goes: whoever holds the signing key could have rewritten all of it. Give a --checkpoint that you kept.'
    : 'CLEAN: it is what was signed, and goes on from what you kept.';
}

/** JSON in ASCII, safe to look at. @param {unknown} value */
const asciiOf = (value) =>
  JSON.stringify(value, null, 2).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/**
 * Checks and writes what was found. @param {Asked & { json?: boolean | undefined }} asked @param {(text: string) => void} write
 * @returns {Promise<0 | 1 | 2>} the code to exit with
 */
export async function run({ json, ...asked }, write) {
  const report = await check(asked);
  write(json ? `${asciiOf(report)}\n` : `${linesOfReport(report).join('\n')}\n`);
  return report.exitCode;
}

const HELP = `Checks an export of Holdpoint's audit log. Asks nobody and writes nothing.

  node holdpoint-verify.mjs EXPORT --key VKEY [--checkpoint FILE] [--against OLDER-EXPORT] [--json]

  --key VKEY          the log's public key as you keep it, or a file that holds it; may be given more than once
  --checkpoint FILE   a checkpoint that you kept elsewhere; may be given more than once
  --against EXPORT    an older export that you kept: names the very events that differ
  --json              one JSON document in ASCII

Exits with 0 when all is as it was signed, 1 when something was found, 2 when it could not be checked.
`;

/** @param {string[]} args @param {(text: string) => void} write */
async function main(args, write) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        key: { type: 'string', multiple: true },
        checkpoint: { type: 'string', multiple: true },
        against: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const [file, ...more] = positionals;
    if (values.help || file === undefined || more.length > 0) {
      write(HELP);
      return values.help ? 0 : 2;
    }
    const { key: keys = [], checkpoint: checkpoints = [], against, json } = values;
    return await run({ file, keys, checkpoints, against, json }, write);
  } catch (error) {
    if (!codeOf(error)?.startsWith('ERR_PARSE_ARGS')) throw error;
    write(HELP);
    return 2;
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url)))
  process.exitCode = await main(process.argv.slice(2), (text) => process.stdout.write(text));
