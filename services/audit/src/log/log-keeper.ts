import { type DatabaseSession, Unavailable } from '@holdpoint/runtime';
import type { Kysely } from 'kysely';
import { Edge } from '../domain/merkle/edge.js';
import { storable } from '../domain/message.js';
import { arrange } from '../domain/sequence.js';
import { EventLog } from '../store/event-log.js';
import { positionOf } from '../store/position.js';
import type { Database } from '../store/schema.js';
import { LogHalted } from './log-halted.js';
import { appendToLog, type StreamMessage } from './log-writer.js';
import { rebuildTree } from './rebuild-tree.js';
import type { Stream, StreamState } from './stream.js';

const CHUNK = 500;
const IN_FLIGHT = 32;

/** Keeps the log in step with the stream, from the log's own position. One at a time: whoever holds the writer's lock. */
export class LogKeeper {
  readonly #log: EventLog;
  readonly #db: Kysely<Database>;
  #edge = Edge.EMPTY;

  constructor(
    private readonly session: DatabaseSession<Database>,
    private readonly stream: Stream,
  ) {
    this.#db = session.db;
    this.#log = new EventLog(session.db);
  }

  /** The tree over what is stored. */
  get edge(): Edge {
    return this.#edge;
  }

  /** Holds the stream against the log and takes the tree up where the log has it. @throws LogHalted */
  async begin(): Promise<void> {
    await this.check();
    const position = await positionOf(this.#db);
    this.#edge = position === null ? Edge.EMPTY : await rebuildTree(this.#db, position);
  }

  /**
   * Stores what was handed out before and never stored: a writer that died had messages in hand, and a restored database is
   * behind what it once acknowledged.
   * @throws LogHalted
   */
  async catchUp(): Promise<void> {
    const { handedOut } = await this.check();
    const next = await this.#next();
    if (next !== null && next <= handedOut) await this.#fetch(next, handedOut);
  }

  /** Holds the stream against what is stored. @throws LogHalted when it is behind, or another one */
  async check(): Promise<StreamState> {
    // In this order: the stream is then never judged by what it took in after it was asked.
    const position = await positionOf(this.#db);
    const state = await this.stream.state();
    if (position === null) return state;
    if (state.lastSeq < position.lastSeq)
      throw new LogHalted(
        'audit.stream-behind',
        `the stream ends at ${state.lastSeq}, the log at ${position.lastSeq}: the stream was lost or restored from a backup. Stop all services and refill it from the log.`,
      );
    const last = await this.stream.at(position.lastSeq);
    if (last !== null) await this.#compare([last]);
    return state;
  }

  /** Stores a delivery. Resolves once it may be acknowledged. @throws LogHalted */
  async take(delivery: readonly StreamMessage[]): Promise<void> {
    const first = delivery[0];
    if (first === undefined) return;
    const { again, steps } = arrange((await this.#next()) ?? first.seq, delivery);
    await this.#compare(again);
    for (const step of steps) {
      if ('append' in step) await this.#append(step.append);
      else await this.#fetch(step.fetch.from, step.fetch.to);
    }
  }

  #append(messages: readonly StreamMessage[]): Promise<void> {
    return appendToLog(this.session, this.#edge, messages, (edge) => {
      this.#edge = edge;
    });
  }

  /** The sequence that comes next; the stream's first for an empty log; null when both are empty. */
  async #next(): Promise<number | null> {
    const position = await positionOf(this.#db);
    return position ? position.lastSeq + 1 : ((await this.stream.from(1))?.seq ?? null);
  }

  async #fetch(from: number, to: number): Promise<void> {
    for (let at = from; at <= to; at += CHUNK) {
      const end = Math.min(to, at + CHUNK - 1);
      const messages: StreamMessage[] = [];
      for (let seq = at; seq <= end; seq += IN_FLIGHT) {
        const seqs = Array.from({ length: Math.min(IN_FLIGHT, end - seq + 1) }, (_, i) => seq + i);
        messages.push(...(await Promise.all(seqs.map((s) => this.#fetchOne(s)))));
      }
      await this.#append(messages);
    }
  }

  async #fetchOne(seq: number): Promise<StreamMessage> {
    const found = await this.stream.from(seq);
    if (found?.seq === seq) return found;
    if (found === null) throw new Unavailable(`sequence ${seq} was handed out, but cannot be read yet`);
    throw new LogHalted(
      'audit.gap',
      `sequence ${seq} is neither in the log nor in the stream, which goes on at ${found.seq}: it aged out before it was logged, or was removed by force. Find a copy of the stream that has it.`,
    );
  }

  /** A redelivery must be what is stored. Another message under a stored sequence means another stream. */
  async #compare(messages: readonly StreamMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const stored = await this.#log.at(messages.map((m) => m.seq));
    for (const { seq, subject, bytes } of messages) {
      const logged = stored.get(seq);
      // Below the log's first sequence: the log began later than this stream.
      if (logged === undefined) continue;
      if (logged.subject !== storable(subject) || Buffer.compare(logged.bytes, bytes) !== 0)
        throw new LogHalted(
          'audit.stream-differs',
          `sequence ${seq} is another message in the stream than in the log: this is not the stream that was logged. Stop all services and find out which of the two is right.`,
        );
    }
  }
}
