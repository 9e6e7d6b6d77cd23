import type { Turn } from './conversation.js';

export interface PlacedTurn {
  position: number;
  turn: Turn;
}

/** Stands in a prompt for every turn up to the position that it covers. The turns themselves are kept. */
export interface Summary {
  covers: number;
  text: string;
}

/** Tokens, where nobody has counted them. */
export const estimate = (text: string): number => Math.ceil(text.length / 4);

export function sizeOf(turn: Turn): number {
  if (turn.role === 'user') return estimate(turn.text);
  if (turn.role === 'tool') return turn.results.reduce((n, r) => n + estimate(r.text), 0);
  return turn.calls.reduce((n, c) => n + estimate(c.tool + c.input), estimate(turn.text));
}

/**
 * How many turns a summary may take the place of, so that about `keep` tokens of the end stay as they were said. Never
 * parts a call from its result, and always leaves the last turns that belong together.
 */
export function cutPoint(turns: readonly PlacedTurn[], keep: number): number {
  let size = 0;
  let cut = turns.length;
  for (let i = turns.length - 1; i > 0; i--) {
    const { turn } = turns[i] as PlacedTurn;
    size += sizeOf(turn);
    if (size > keep && cut < turns.length) break;
    if (turn.role !== 'tool') cut = i;
  }
  return cut === turns.length ? 0 : cut;
}

/** What a run's prompts are made of: the summary, if there is one, and what was said since. */
export class Memory {
  #counted: number | undefined;
  #asked: PlacedTurn | undefined;

  /** @param recent the turns after the summary */
  constructor(
    public summary: Summary | null,
    private recent: PlacedTurn[],
  ) {
    this.#asked = recent.findLast((t) => t.turn.role === 'user');
  }

  /** With the summary as a user's turn. What the run was asked stays word for word, however long the run becomes. */
  prompt(summary: (text: string) => string): Turn[] {
    const { covers, text } = this.summary ?? { covers: 0, text: '' };
    return [
      ...(text === '' ? [] : [{ role: 'user' as const, text: summary(text) }]),
      ...(this.#asked && this.#asked.position <= covers ? [this.#asked.turn] : []),
      ...this.recent.map((t) => t.turn),
    ];
  }

  say(placed: PlacedTurn): void {
    this.recent.push(placed);
    if (placed.turn.role === 'user') this.#asked = placed;
    if (this.#counted !== undefined) this.#counted += sizeOf(placed.turn);
  }

  /** What the provider counted for prompt and answer of the last round, once the answer was said; 0 when it did not. */
  counted(tokens: number): void {
    this.#counted = tokens > 0 ? tokens : undefined;
  }

  /** Tokens of the next prompt: counted where they were, estimated where not. */
  size(system: string): number {
    return this.#counted ?? this.prompt((t) => t).reduce((n, t) => n + sizeOf(t), estimate(system));
  }

  /** The turns that a summary could take the place of, or none: that of what was asked alone would gain nothing. */
  coverable(keep: number): PlacedTurn[] {
    const covered = this.recent.slice(0, cutPoint(this.recent, keep));
    return covered.some((t) => t !== this.#asked) ? covered : [];
  }

  compact(summary: Summary): void {
    this.summary = summary;
    this.recent = this.recent.filter((t) => t.position > summary.covers);
    this.#counted = undefined;
  }
}
