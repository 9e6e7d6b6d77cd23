import { describe, expect, it } from '@jest/globals';
import { Bill, type RoundUsage } from './bill.js';
import { Prices } from './prices.js';

const prices = new Prices();
const round = (more: Partial<RoundUsage>): RoundUsage => ({
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  writtenTokens: 0,
  complete: true,
  ...more,
});
const billed = (model: string, ...rounds: Partial<RoundUsage>[]) => {
  const bill = new Bill(prices.of(model));
  for (const r of rounds) bill.add(round(r));
  return bill.cost;
};

describe('what a run costs', () => {
  it('is exact: tokens times list price, cached ones at their own', () => {
    const usage = { promptTokens: 1_000_003, cachedTokens: 999_999, completionTokens: 7 };
    // 4 × 0.15 + 999,999 × 0.075 + 7 × 0.60, in millionths
    expect(billed('openai/gpt-4o-mini', usage)).toEqual({ amount: '0.075004725', known: true });
    expect(billed('anthropic/claude-haiku-4-5', { promptTokens: 10, writtenTokens: 8, completionTokens: 1 })).toEqual({
      amount: '0.000017',
      known: true,
    });
  });

  it('does not drift over many small rounds', () => {
    const small = { promptTokens: 1, completionTokens: 0 };
    const many = Array.from({ length: 30_000 }, () => small);
    expect(billed('openai/gpt-4.1-mini', ...many)).toEqual({ amount: '0.012', known: true });
  });

  it('is nought, and known, for the scripted model and before anything was asked', () => {
    expect(billed('scripted', { promptTokens: 5, completionTokens: 5, complete: false })).toEqual({
      amount: '0',
      known: true,
    });
    expect(billed('openai/nobody-knows-it')).toEqual({ amount: '0', known: true });
  });

  it('is not known for a model that no file names, however alike', () => {
    expect(billed('openai/gpt-4o-mini-2099', { promptTokens: 5 }).known).toBe(false);
    expect(prices.of('openai/GPT-4o')).toBeUndefined();
    expect(prices.of('openai/constructor')).toBeUndefined();
  });

  it('is not known once anything is missing, and never again after', () => {
    expect(billed('openai/gpt-4o', { promptTokens: 5, complete: false }, { promptTokens: 5 }).known).toBe(false);
    expect(billed('openai/gpt-4o', { promptTokens: 5, writtenTokens: 2 }).known).toBe(false);
    const bill = new Bill(prices.of('openai/gpt-4o'));
    expect([bill.pending.known, bill.cost.known]).toEqual([false, true]);
    bill.incomplete();
    expect(bill.cost.known).toBe(false);
  });
});
