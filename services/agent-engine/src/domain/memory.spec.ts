import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Turn } from './conversation.js';
import { cutPoint, Memory, type PlacedTurn } from './memory.js';
import { Refusals } from './refusals.js';
import { Spending } from './spending.js';

const user = (text: string): Turn => ({ role: 'user', text });
const calls = (id: string): Turn => ({
  role: 'assistant',
  text: '',
  calls: [{ callId: id, providerCallId: id, tool: 'T', input: '{}' }],
});
const result = (id: string, text: string): Turn => ({
  role: 'tool',
  results: [{ providerCallId: id, tool: 'T', text }],
});
const placed = (turns: Turn[], from = 1): PlacedTurn[] => turns.map((turn, i) => ({ position: from + i, turn }));

/** Conversations as they come about: each answer of the model with calls is followed by their results. */
const conversation = fc
  .array(
    fc.record({
      prompt: fc.string({ maxLength: 200 }),
      rounds: fc.array(fc.string({ maxLength: 400 }), { maxLength: 4 }),
    }),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((runs) =>
    placed(
      runs.flatMap(({ prompt, rounds }, r): Turn[] => [
        user(prompt),
        ...rounds.flatMap((text, i) => [calls(`${r}-${i}`), result(`${r}-${i}`, text)]),
      ]),
    ),
  );

describe('a long conversation', () => {
  it('is never cut between a call and its result, and never to nothing', () => {
    fc.assert(
      fc.property(conversation, fc.integer({ min: 0, max: 400 }), (turns, keep) => {
        const cut = cutPoint(turns, keep);
        expect(cut).toBeLessThan(turns.length);
        if (cut > 0) expect(turns[cut]?.turn.role).not.toBe('tool');
      }),
      { seed: 7 },
    );
  });

  it('has every result in the prompt behind its call, and what was asked word for word, whatever was compacted', () => {
    fc.assert(
      fc.property(conversation, fc.integer({ min: 0, max: 400 }), (turns, keep) => {
        const memory = new Memory(null, turns);
        const covered = memory.coverable(keep).at(-1);
        if (covered) memory.compact({ covers: covered.position, text: 'summary' });
        const prompt = memory.prompt((t) => `so far: ${t}`);
        const open = new Set<string>();
        for (const t of prompt) {
          if (t.role === 'assistant') for (const c of t.calls) open.add(c.providerCallId);
          if (t.role === 'tool') for (const r of t.results) expect(open.delete(r.providerCallId)).toBe(true);
        }
        expect(open.size).toBe(0);
        const asked = turns.findLast((t) => t.turn.role === 'user');
        expect(prompt.filter((t) => t === asked?.turn)).toHaveLength(1);
        expect(prompt.filter((t) => t.role === 'user' && t.text === 'so far: summary')).toHaveLength(covered ? 1 : 0);
      }),
      { seed: 7 },
    );
  });

  it('is measured by what the provider counted, and by its characters where nobody did', () => {
    const memory = new Memory(null, placed([user('x'.repeat(400))]));
    expect(memory.size('y'.repeat(40))).toBe(110);
    memory.say({ position: 2, turn: calls('a') });
    memory.counted(5_000);
    memory.say({ position: 3, turn: result('a', 'z'.repeat(400)) });
    expect(memory.size('')).toBe(5_100);
    memory.counted(0);
    expect(memory.size('')).toBe(201);
  });

  it('is not compacted when only what was just asked could be replaced', () => {
    const memory = new Memory(null, placed([user('x'.repeat(4_000)), calls('a'), result('a', 'r')]));
    expect(memory.coverable(1)).toEqual([]);
  });
});

describe('a call that is refused again and again', () => {
  const call = { tool: 'Mail', input: '{"action":"send"}' };

  it('is counted as long as nothing else was done', () => {
    const refusals = new Refusals();
    expect(refusals.note(call, true)).toBe(1);
    expect(refusals.note({ ...call, input: '{}' }, true)).toBe(1);
    expect(refusals.note(call, true)).toBe(2);
    expect(refusals.times(call)).toBe(2);
    refusals.note({ ...call, input: '{"other":1}' }, false);
    expect(refusals.times(call)).toBe(0);
  });
});

it('a budget is crossed by what was reported, or estimated where nothing was; only what was reported is recorded', () => {
  const spending = new Spending(100);
  spending.add({ promptTokens: 60, completionTokens: 40, cachedTokens: 10 }, 7);
  expect(spending.over).toBe(false);
  spending.add({ promptTokens: 0, completionTokens: 0, cachedTokens: 0 }, 7);
  expect(spending.over).toBe(true);
  expect(spending.tokens).toBe(107);
  expect(spending.usage).toEqual({ promptTokens: 60, completionTokens: 40, cachedTokens: 10 });
});
