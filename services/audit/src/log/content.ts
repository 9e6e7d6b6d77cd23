import { FROZEN_NONCE_BYTES, type HoldpointEvent, type Sealed, type SealedField } from '@holdpoint/contracts';
import { ContentDestroyed, ContentUnreadable, type Keyring } from '@holdpoint/runtime';
import { read } from '../domain/message.js';
import type { EventLog } from '../store/event-log.js';

interface Box {
  sealed: Sealed;
  field: SealedField;
}

const utf8 = new TextDecoder();

/** Opens, for a reader, content that entries only name by sequence. What is erased or does not open is null, and stays so. */
export class Content {
  constructor(
    private readonly log: EventLog,
    /** Null when the service has no master key: then nothing opens. */
    private readonly keyring: Keyring | null,
  ) {}

  /** The text that each of these events carries: arguments of a call, or the reason of a decision. */
  async at(seqs: readonly (number | null)[]): Promise<Map<number, string | null>> {
    const wanted = [...new Set(seqs.filter((seq) => seq !== null))];
    if (wanted.length === 0 || this.keyring === null) return new Map();
    const messages = await this.log.at(wanted);
    const opened = await Promise.all(
      [...messages.values()].map(async (m) => {
        const { event } = read({ ...m, brokerHeaders: false });
        return [m.seq, event && (await this.#open(event))] as const;
      }),
    );
    return new Map(opened);
  }

  async #open(event: HoldpointEvent): Promise<string | null> {
    const box = boxOf(event);
    if (box === null || this.keyring === null) return null;
    try {
      const place = { spaceId: event.spaceid, entityId: event.subject, field: box.field };
      const bytes = await this.keyring.open(box.sealed, place);
      return utf8.decode(box.field === 'frozen' ? bytes.subarray(FROZEN_NONCE_BYTES) : bytes);
    } catch (err) {
      if (err instanceof ContentDestroyed || err instanceof ContentUnreadable) return null;
      throw err;
    }
  }
}

function boxOf(event: HoldpointEvent): Box | null {
  switch (event.type) {
    case 'tool.proposed':
      return { sealed: event.data.frozen, field: 'frozen' };
    case 'tool.executed':
      return event.data.arguments ? { sealed: event.data.arguments, field: 'arguments' } : null;
    case 'approval.decided':
      return event.data.reason ? { sealed: event.data.reason, field: 'reason' } : null;
    default:
      return null;
  }
}
