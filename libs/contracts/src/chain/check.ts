import { catalogue } from '../events/catalogue.js';
import { acceptCallEvent } from './call-grammar.js';
import { waitsForPerson } from './call-table.js';
import { isFollowed, Ledger } from './ledger.js';
import { readMessage } from './read-message.js';
import type { CheckReport, OpenEntity, StreamMessage, Violation } from './report.js';
import { acceptRunEvent } from './run-grammar.js';
import { acceptPolicyChange, acceptSpaceEvent } from './space-grammar.js';
import { acceptTaskEvent, stateOf } from './task-grammar.js';

export interface CheckOptions {
  /**
   * The system has come to rest: whatever needs no person must have ended, and each held call that closed must have woken
   * its agent. Otherwise unfinished entities are only listed.
   */
  settled?: boolean;
}

/**
 * Holds a stream, read alone and from its first message on, against the tables of charter sections 6 and 7. Says only what
 * the stream proves: services act on stored events alone, so an effect stands after its cause; what no cause orders may
 * interleave in any way. Keeps the whole state of open entities, one word of each closed one, a fingerprint
 * of each event id and the numbers that were given out.
 */
export class StreamCheck {
  readonly #ledger = new Ledger();
  readonly #seen = new Map<string, number>();
  #firstSeq = 0;
  #lastSeq = 0;

  /** Takes the next message, in stream order. */
  add(m: StreamMessage) {
    const ledger = this.#ledger;
    if (this.#lastSeq === 0) {
      this.#firstSeq = m.seq;
      ledger.beheaded = m.seq > 1;
    } else if (m.seq <= this.#lastSeq)
      return ledger.found('stream.order', m.seq, 'stream', `sequence ${m.seq} is read after ${this.#lastSeq}`);
    else if (m.seq > this.#lastSeq + 1) {
      const missing = m.seq - this.#lastSeq - 1;
      ledger.found(
        'stream.gap',
        m.seq,
        'stream',
        `${missing} message${missing === 1 ? ' is' : 's are'} missing before it`,
      );
    }
    this.#lastSeq = m.seq;
    ledger.counts.messages++;
    const read = readMessage(m);
    if ('code' in read) return ledger.found(read.code, m.seq, 'stream', read.message);
    const { event, fingerprint } = read;
    const before = this.#seen.get(event.id);
    if (before !== undefined) return this.#again(event, before === fingerprint, m.seq);
    this.#seen.set(event.id, fingerprint);
    switch (event.type) {
      case 'run.queued':
      case 'run.started':
      case 'run.completed':
        return acceptRunEvent(ledger, event, m.seq);
      case 'run.key-destroyed':
        if (event.data.conversationId !== event.subject)
          ledger.found('run.identity', m.seq, `conversation/${event.subject}`, 'the key of another conversation');
        return;
      case 'task.created':
      case 'task.ready':
      case 'task.completed':
      case 'task.retried':
      case 'task.died':
      case 'task.cancelled':
        return acceptTaskEvent(ledger, event, m.seq);
      case 'tool.announced':
        return;
      case 'policy.changed':
        return acceptPolicyChange(ledger, event, m.seq);
      case 'policy.space-created':
      case 'policy.member-changed':
        return acceptSpaceEvent(ledger, event, m.seq);
      default:
        return acceptCallEvent(ledger, event, m.seq);
    }
  }

  /** An outbox relay may send twice; a fact that the stream itself keeps single cannot be stored twice. */
  #again(e: { id: string; type: keyof typeof catalogue; subject: string }, equal: boolean, seq: number): void {
    const { entity, once } = catalogue[e.type];
    if (!equal)
      this.#ledger.found(
        'event.id-reused',
        seq,
        `${entity}/${e.subject}`,
        `event id ${e.id} came before with other bytes`,
      );
    else if (once) this.#ledger.found('call.repeated', seq, `${entity}/${e.subject}`, `${e.type} is stored twice`);
    else this.#ledger.counts.duplicates++;
  }

  /** Found so far, in the order in which they were. */
  get violations(): readonly Violation[] {
    return this.#ledger.violations;
  }

  finish({ settled = false }: CheckOptions = {}): CheckReport {
    const ledger = this.#ledger;
    const open: OpenEntity[] = [];
    const violations = [...ledger.violations];
    const unfinished = (code: string, entity: string, state: string, of: { spaceId: string; seq: number }) => {
      open.push({ entity, spaceId: of.spaceId, state, seq: of.seq });
      if (settled && code) violations.push({ code, seq: this.#lastSeq, entity, message: `left ${state}` });
    };
    for (const [id, call] of ledger.calls) {
      if (!isFollowed(call) || call.state === 'abandoned') continue;
      if (call.state !== 'closed') {
        const state = call.state.startsWith('auto') ? 'auto' : call.state;
        unfinished(waitsForPerson.has(call.state) ? '' : 'call.unfinished', `call/${id}`, state, call);
      } else if (call.wake?.must) unfinished('wake.missing', `call/${id}`, 'closed without a wake-up', call);
    }
    for (const [id, run] of ledger.runs) if (isFollowed(run)) unfinished('run.unfinished', `run/${id}`, run.state, run);
    for (const [id, task] of ledger.tasks) {
      if (!isFollowed(task) || task.state === 'cancelled') continue;
      unfinished(task.state === 'dead' ? '' : 'task.unfinished', `task/${id}`, stateOf(task), task);
    }
    if (settled && !ledger.beheaded)
      for (const [runId, seq] of ledger.runsOwed)
        violations.push({
          code: 'run.missing',
          seq,
          entity: `run/${runId}`,
          message: 'named by a call and never queued',
        });
    return { violations, counts: { ...ledger.counts }, open, firstSeq: this.#firstSeq, lastSeq: this.#lastSeq };
  }
}

/** {@link StreamCheck} over messages at hand. */
export function checkStream(messages: Iterable<StreamMessage>, options: CheckOptions = {}): CheckReport {
  const check = new StreamCheck();
  for (const m of messages) check.add(m);
  return check.finish(options);
}
