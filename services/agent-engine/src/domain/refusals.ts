import type { WrittenCall } from './conversation.js';

type Call = Pick<WrittenCall, 'tool' | 'input'>;

/**
 * Finds a model that asks for the same refused thing again and again. Any call that was not refused makes it forget: what
 * was refused before may be allowed after something has changed.
 */
export class Refusals {
  readonly #times = new Map<string, number>();

  times(call: Call): number {
    return this.#times.get(keyOf(call)) ?? 0;
  }

  /** @returns how often this very call has now been refused in a row. */
  note(call: Call, refused: boolean): number {
    if (!refused) {
      this.#times.clear();
      return 0;
    }
    const times = this.times(call) + 1;
    this.#times.set(keyOf(call), times);
    return times;
  }
}

const keyOf = ({ tool, input }: Call) => JSON.stringify([tool, input]);
