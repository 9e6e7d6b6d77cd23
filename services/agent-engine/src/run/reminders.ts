import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { Words } from '../domain/words.js';

/**
 * Hints for the model's next round and no other. They are a message at the end of that one prompt and never become a turn,
 * so that no later round, no summary and no person reads them as something that was said.
 */
export class Reminders {
  readonly #next = new Set<string>();

  constructor(private readonly words: Words) {}

  add(...texts: string[]): void {
    for (const t of texts) this.#next.add(t);
  }

  take(): LanguageModelV4Message[] {
    if (this.#next.size === 0) return [];
    const text = [this.words.reminders(), ...[...this.#next].map((t) => `- ${t}`)].join('\n');
    this.#next.clear();
    return [{ role: 'user', content: [{ type: 'text', text }], providerOptions: REMINDER }];
  }
}

/** Tells it from what a user said, to whom that matters; no text could. */
const REMINDER = { holdpoint: { reminder: true } };

export const isReminder = (m: LanguageModelV4Message): boolean => m.providerOptions?.['holdpoint'] !== undefined;
