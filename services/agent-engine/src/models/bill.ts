import type { Price } from './prices.js';

/** What a provider says that one round took. Undefined: it did not say, or nothing that can be right. */
export interface RoundUsage {
  promptTokens: number;
  completionTokens: number;
  /** Of the prompt's tokens, those that came from the provider's cache, and those that were put there. */
  cachedTokens: number;
  writtenTokens: number;
  /** False when the provider left out, or garbled, what would be needed to say what the round cost. */
  complete: boolean;
}

/** What a run costs, exactly: whole tokens times whole 10⁻¹² dollars. Known only while nothing is missing from it. */
export class Bill {
  #amount = 0n;
  #known = true;

  constructor(private readonly price: Price | undefined) {}

  add(round: RoundUsage): void {
    const { price } = this;
    const { promptTokens, completionTokens, cachedTokens, writtenTokens, complete } = round;
    if (!price || !complete || (writtenTokens > 0 && price.cacheWrite === undefined)) {
      this.incomplete();
      return;
    }
    const plain = promptTokens - cachedTokens - writtenTokens;
    this.#amount +=
      BigInt(plain) * price.input +
      BigInt(cachedTokens) * price.cached +
      BigInt(writtenTokens) * (price.cacheWrite ?? 0n) +
      BigInt(completionTokens) * price.output;
  }

  /** Something was, or may have been, paid for that nobody counted. */
  incomplete(): void {
    this.#known = this.free;
  }

  get free(): boolean {
    return this.price !== undefined && Object.values(this.price).every((p) => p === 0n);
  }

  /** While a round is asked for, nobody knows: `pending` is what the record says if this process does not come back. */
  get pending(): { amount: string; known: boolean } {
    return { amount: dollars(this.#amount), known: this.free };
  }

  get cost(): { amount: string; known: boolean } {
    return { amount: dollars(this.#amount), known: this.#known };
  }
}

/** 10⁻¹² dollars as a decimal string, without a float in between. */
function dollars(amount: bigint): string {
  const digits = amount.toString().padStart(13, '0');
  const decimals = digits.slice(-12).replace(/0+$/, '');
  return decimals === '' ? digits.slice(0, -12) : `${digits.slice(0, -12)}.${decimals}`;
}
