import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { ITS_OWN, type Message, random, type Story, stories } from './stories.js';
import { consistency, inclusion, leafHash, rootOf } from './tree.js';

export type Line = Record<string, unknown> & { kind: string };
export const ORIGIN = 'holdpoint.local/0123abcd';

/** A key whose seed is its name's hash, so that every run signs the same. */
export class Signer {
  readonly #private: KeyObject;
  readonly vkey: string;
  readonly #id: Buffer;

  constructor(
    seed: string,
    readonly name = ORIGIN,
  ) {
    const raw = createHash('sha256').update(seed).digest();
    const prefix = Buffer.from('302e020100300506032b657004220420', 'hex'); // PKCS#8 of an Ed25519 seed (RFC 8410)
    this.#private = createPrivateKey({ key: Buffer.concat([prefix, raw]), format: 'der', type: 'pkcs8' });
    const { x } = createPublicKey(this.#private).export({ format: 'jwk' });
    const key = Buffer.concat([Buffer.of(1), Buffer.from(x as string, 'base64url')]);
    this.#id = createHash('sha256').update(`${name}\n`).update(key).digest().subarray(0, 4);
    this.vkey = `${name}+${this.#id.toString('hex')}+${key.toString('base64')}`;
  }

  line(text: string): string {
    const signature = Buffer.concat([this.#id, sign(null, Buffer.from(text), this.#private)]);
    return `— ${this.name} ${signature.toString('base64')}\n`;
  }
}

export const note = (text: string, ...signers: Signer[]): string =>
  `${text}\n${signers.map((s) => s.line(text)).join('')}`;

interface Open {
  story: Story;
  /** Of its last message. */
  seq: number;
}

/** A log in memory, as the specification of exports has it. */
export class Log {
  readonly messages: Message[] = [];
  readonly times: string[] = [];
  readonly checkpoints: { size: number; note: string }[] = [];
  readonly statements: string[] = [];
  #open: Open[] = [];
  #more;

  constructor(
    seed: number,
    readonly first = 1,
    public signer = new Signer('first'),
    readonly next = random(seed),
  ) {
    this.#more = stories(next);
  }

  get size() {
    return this.messages.length;
  }
  get leaves() {
    return this.messages.map((m) => leafHash(m.subject, m.body));
  }

  /** What an old backup of it holds, or whoever rewrites it begins with. */
  copy(size: number): Log {
    const other = new Log(size, this.first, this.signer);
    other.messages.push(...this.messages.slice(0, size));
    other.times.push(...this.times.slice(0, size));
    other.checkpoints.push(...this.checkpoints.filter((c) => c.size <= size));
    other.statements.push(...this.statements);
    return other;
  }

  append(message: Message): number {
    this.messages.push(message);
    this.times.push(new Date(Date.UTC(2030, 0, 1) + 1000 * this.size).toISOString());
    return this.first + this.size - 1;
  }

  /** Goes on until the log has `size` events. */
  fill(size: number): this {
    while (this.size < size) {
      while (this.#open.length < 4) this.#open.push({ story: this.#more.next().value, seq: 0 });
      const at = Math.floor(this.next() * this.#open.length);
      const one = this.#open[at] as Open;
      const { value, done } = one.story.next(one.seq);
      if (done) this.#open.splice(at, 1);
      else one.seq = this.append(value);
    }
    return this;
  }

  text(size = this.size): string {
    return `${ORIGIN}\n${size}\n${rootOf(this.leaves.slice(0, size)).toString('base64')}\nfirst ${this.first}\n`;
  }

  checkpoint(...signers: Signer[]): string {
    const signed = note(this.text(), ...(signers.length > 0 ? signers : [this.signer]));
    this.checkpoints.push({ size: this.size, note: signed });
    return signed;
  }

  /** Both keys sign here; from here on the new one alone. */
  rotate(to: Signer): void {
    this.checkpoint(this.signer, to);
    this.statements.push(note(`${ORIGIN}\nkey\n${to.vkey}\n${this.size}\n`, this.signer));
    this.signer = to;
  }

  /** Events of the log with what follows from each. `keep` makes it a filtered export, `from` or `to` a part. */
  export(options: { from?: number; to?: number; keep?: (m: Message) => boolean; older?: number[] } = {}): Line[] {
    const closing = this.checkpoints.at(-1) as { size: number; note: string };
    const { size } = closing;
    const { from = 0, to = size, keep, older = [] } = options;
    const isWhole = keep === undefined && from === 0 && to === size;
    const leaves = this.leaves.slice(0, size);
    const counts = { events: 0, entries: 0, receipts: 0 };
    const lines: Line[] = [
      {
        ...{ kind: 'holdpoint-export', version: 1, origin: ORIGIN, first: this.first, size, from, to },
        ...{ filter: keep === undefined ? null : { space: 'acme' }, content: 'sealed' },
      },
      ...this.statements.map((s) => ({ kind: 'key', note: s })),
    ];
    for (const [index, m] of this.messages.entries()) {
      if (index < from || index >= to || (keep && !keep(m))) continue;
      const time = this.times[index] as string;
      counts.events++;
      lines.push({
        ...{ kind: 'event', index, seq: this.first + index, time, subject: m.subject, ...written(m.body) },
        ...(m.duplicate && { duplicate: true }),
        ...(m.fault && { fault: m.fault }),
        ...(!isWhole && { proof: inclusion(index, leaves).map((h) => h.toString('base64')) }),
      });
      if (m.entry)
        lines.push(this.#derived('entry', index, m.entry, { at: time, eventId: JSON.parse(`${m.body}`).id }));
      if (m.receipt) lines.push(this.#derived('receipt', index, m.receipt, { completedAt: time }));
      if (m.entry) counts.entries++;
      if (m.receipt) counts.receipts++;
    }
    for (const n of older)
      lines.push({
        kind: 'consistency',
        from: n,
        to: size,
        proof: consistency(n, leaves).map((h) => h.toString('base64')),
      });
    for (const c of isWhole ? this.checkpoints : [closing]) lines.push({ kind: 'checkpoint', note: c.note });
    return [...lines, { kind: 'end', ...counts }];
  }

  #derived(kind: string, index: number, fields: object, more: object): Line {
    const seq = this.first + index;
    const own = Object.entries(fields).map(([name, value]) => [name, value === ITS_OWN ? seq : value]);
    return { kind, streamSeq: seq, ...more, ...Object.fromEntries(own) };
  }
}

function written(body: Buffer) {
  const text = body.toString('utf8');
  return Buffer.from(text).equals(body) ? { body: text } : { bodyBase64: body.toString('base64') };
}

export const textOf = (lines: readonly Line[]): string => lines.map((l) => `${JSON.stringify(l)}\n`).join('');
export const copyOf = (lines: readonly Line[]): Line[] => structuredClone(lines) as Line[];

/** Where the event with this index stands. */
export const lineOf = (lines: readonly Line[], index: number): number =>
  lines.findIndex((l) => l.kind === 'event' && l['index'] === index);
/** The event and what follows from it: from where, how many lines. */
export function blockOf(lines: readonly Line[], index: number): [number, number] {
  const at = lineOf(lines, index);
  let end = at + 1;
  while (['entry', 'receipt'].includes(lines[end]?.kind ?? '')) end++;
  return [at, end - at];
}
/** Gives events their numbers in the order in which they stand, and the end the right counts: what a careful forger would do. */
export function renumbered(lines: Line[]): Line[] {
  const first = lines[0]?.['first'] as number;
  const events = lines.filter((l) => l.kind === 'event');
  const now = new Map(events.map((line, i) => [line['seq'], first + i]));
  for (const [i, line] of events.entries()) Object.assign(line, { index: i, seq: first + i });
  for (const line of lines)
    for (const name of ['streamSeq', 'argumentsSeq', 'noteSeq', 'resultSeq'])
      if (now.has(line[name])) line[name] = now.get(line[name]);
  const count = (kind: string) => lines.filter((l) => l.kind === kind).length;
  Object.assign(lines.at(-1) as Line, { events: events.length, entries: count('entry'), receipts: count('receipt') });
  return lines;
}
