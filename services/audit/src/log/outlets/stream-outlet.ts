import { createHash } from 'node:crypto';
import {
  CHECKPOINT_KEY_SUBJECT,
  CHECKPOINT_STREAM,
  CHECKPOINT_SUBJECT,
  CHECKPOINT_SUBJECTS,
} from '@holdpoint/contracts';
import type { Bus } from '@holdpoint/eventing';
import { Unavailable } from '@holdpoint/runtime';
import type { Outlet, Published } from './outlet.js';

const PUBLISH_TIMEOUT_MS = 5_000;

/** The checkpoints' own stream, read from its leader: what is stored is seen. */
export class StreamOutlet implements Outlet {
  readonly name = 'the checkpoint stream';
  /** A writer that was replaced publishes behind nobody: the stream refuses what does not follow this. */
  #lastSeq = 0;

  constructor(private readonly bus: Bus) {}

  async latest(): Promise<string | null> {
    const found = await this.#get({ last_by_subj: CHECKPOINT_SUBJECT });
    this.#lastSeq = found?.seq ?? 0;
    return found?.note ?? null;
  }

  async *all(): AsyncGenerator<Published> {
    for (let seq = 1; ; ) {
      const found = await this.#get({ seq, next_by_subj: CHECKPOINT_SUBJECTS[0] });
      if (found === null) return;
      yield { kind: found.subject === CHECKPOINT_KEY_SUBJECT ? 'key' : 'checkpoint', note: found.note };
      seq = found.seq + 1;
    }
  }

  async put({ kind, note }: Published): Promise<void> {
    const checkpoint = kind === 'checkpoint';
    const subject = checkpoint ? CHECKPOINT_SUBJECT : CHECKPOINT_KEY_SUBJECT;
    const publish = () =>
      this.bus.js.publish(subject, note, {
        // A repetition whose first answer was lost is taken for what it is.
        msgID: createHash('sha256').update(note).digest('hex'),
        ...(checkpoint ? { expect: { lastSubjectSequence: this.#lastSeq } } : {}),
        timeout: PUBLISH_TIMEOUT_MS,
      });
    try {
      const ack = await this.bus.request(publish);
      if (ack.stream !== CHECKPOINT_STREAM) throw new Error(`${subject} was answered by the stream ${ack.stream}`);
      if (checkpoint) this.#lastSeq = ack.seq;
    } catch (err) {
      if (checkpoint && (await this.latest()) === note) return;
      throw err;
    }
  }

  async #get(query: { last_by_subj: string } | { seq: number; next_by_subj: string }) {
    try {
      const ask = () => this.bus.jsm.streams.getMessage(CHECKPOINT_STREAM, query as { last_by_subj: string });
      const found = await this.bus.request(ask);
      return found && { seq: found.seq, subject: found.subject, note: found.string() };
    } catch (cause) {
      throw new Unavailable(
        'the stream of the checkpoints gives no answer; if it is not there, provision the bus anew',
        { cause },
      );
    }
  }
}
