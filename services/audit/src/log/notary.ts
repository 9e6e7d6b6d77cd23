import { randomBytes } from 'node:crypto';
import { type DatabaseSession, Unavailable } from '@holdpoint/runtime';
import type { Edge } from '../domain/merkle/edge.js';
import { checkpointText, formatNote, keyText } from '../domain/note.js';
import { insertCheckpoint, insertKey, latestCheckpoint, signingKeys } from '../store/checkpoints.js';
import { positionOf } from '../store/position.js';
import type { Database } from '../store/schema.js';
import { LogHalted } from './log-halted.js';
import { sha256 } from './sha256.js';
import type { SigningKey } from './signing-key.js';
import type { Kept } from './standing.js';

export interface NotaryOptions {
  /** Signs from now on. */
  key: SigningKey;
  /** Signed until now, and vouches for `key` when that is new. */
  previousKey?: SigningKey | undefined;
  /** The log's name. Default: the one that it has, else one of its own. */
  origin?: string | undefined;
}

/** Signs the log's state. One at a time: it works in the session that holds the writer's lock. */
export class Notary {
  #size = 0;

  private constructor(
    private readonly session: DatabaseSession<Database>,
    private readonly key: SigningKey,
    private readonly origin: string,
  ) {}

  /**
   * Hands over to a new key first, if there is one.
   * @param kept what is signed already; the log was held against it
   * @throws LogHalted when the log has another name, or nobody whom the log knows vouches for the key
   */
  static async begin(session: DatabaseSession<Database>, kept: readonly Kept[], edge: Edge, options: NotaryOptions) {
    const named = kept[0]?.checkpoint.origin;
    const origin = named ?? options.origin ?? `holdpoint.local/${randomBytes(4).toString('hex')}`;
    const other = kept.find((k) => k.checkpoint.origin !== (options.origin ?? origin));
    if (other)
      throw new LogHalted(
        'audit.origin-differs',
        `${other.where} holds checkpoints of ${other.checkpoint.origin}, and this is ${options.origin ?? origin}. A log keeps its name: correct AUDIT_LOG_ORIGIN, or find out whose checkpoints those are.`,
      );
    const notary = new Notary(session, options.key, origin);
    notary.#size = (await latestCheckpoint(session.db))?.size ?? 0;
    const active = (await signingKeys(session.db)).at(-1);
    if (active !== undefined && active.vkey !== options.key.vkey(origin))
      await notary.#handOver(edge, active.vkey, options.previousKey);
    return notary;
  }

  /** Whether the log has grown since the last checkpoint. */
  isDue(edge: Edge): boolean {
    return edge.size > this.#size;
  }

  /** Signs the log as it is now, unless that was done. */
  async make(edge: Edge): Promise<void> {
    if (!this.isDue(edge)) return;
    const { key, origin } = this;
    const first = (await signingKeys(this.session.db)).length === 0;
    const vkey = key.vkey(origin);
    const statement = first ? { vkey, sinceSize: 0, by: key } : undefined;
    await this.#store(edge, [key], statement);
  }

  async #handOver(edge: Edge, activeVkey: string, previous: SigningKey | undefined): Promise<void> {
    const vkey = this.key.vkey(this.origin);
    const replaced = (await signingKeys(this.session.db)).some((k) => k.vkey === vkey);
    if (replaced || previous?.vkey(this.origin) !== activeVkey)
      throw new LogHalted(
        'audit.key-unknown',
        replaced
          ? 'the key of AUDIT_SIGNING_KEY_FILE was replaced by another one and signs no more: give the one that signs now, or a new one.'
          : `checkpoints are signed by ${activeVkey}, and AUDIT_SIGNING_KEY_FILE holds another key. To change keys, give the old one as AUDIT_PREVIOUS_KEY_FILE; it vouches for the new one.`,
      );
    await this.#store(edge, [previous, this.key], { vkey, sinceSize: edge.size, by: previous });
  }

  async #store(
    edge: Edge,
    keys: readonly SigningKey[],
    statement: { vkey: string; sinceSize: number; by: SigningKey } | undefined,
  ): Promise<void> {
    const { origin } = this;
    const { db } = this.session;
    const position = await positionOf(db);
    if (position === null) throw new Unavailable('there is nothing to sign yet');
    const root = edge.root(sha256);
    const text = checkpointText({ origin, size: edge.size, root, firstSeq: position.firstSeq });
    const note = formatNote({ text, signatures: keys.map((k) => k.sign(origin, text)) });
    await db.transaction().execute(async (tx) => {
      const number = ((await latestCheckpoint(tx))?.number ?? 0) + 1;
      await insertCheckpoint(tx, { number, size: edge.size, root: Buffer.from(root), note });
      if (!statement) return;
      const { vkey, sinceSize, by } = statement;
      const said = keyText(origin, vkey, sinceSize);
      await insertKey(tx, {
        number: (await signingKeys(tx)).length + 1,
        vkey,
        since_size: sinceSize,
        checkpoint: number,
        note: formatNote({ text: said, signatures: [by.sign(origin, said)] }),
      });
    });
    this.#size = edge.size;
  }
}
