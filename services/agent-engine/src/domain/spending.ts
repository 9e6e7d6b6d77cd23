import type { Usage } from '@holdpoint/contracts';

/** What a run has used so far: as it was reported, which is recorded, and as it is held against the budget. */
export class Spending {
  usage: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  #tokens = 0;

  constructor(private readonly budget: number | undefined) {}

  /** @param estimated counts towards the budget where the provider has reported nothing. */
  add(reported: Usage, estimated: number): void {
    const { promptTokens, completionTokens, cachedTokens } = this.usage;
    this.usage = {
      promptTokens: promptTokens + reported.promptTokens,
      completionTokens: completionTokens + reported.completionTokens,
      cachedTokens: cachedTokens + reported.cachedTokens,
    };
    this.#tokens += reported.promptTokens + reported.completionTokens || estimated;
  }

  get tokens(): number {
    return this.#tokens;
  }

  get over(): boolean {
    return this.budget !== undefined && this.#tokens > this.budget;
  }
}
