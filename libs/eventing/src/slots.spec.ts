import { describe, expect, it } from '@jest/globals';
import { Bell } from './pause.js';
import { Slots } from './slots.js';

describe('slots', () => {
  it('let so many work at once, the others in their order, and survive faults', async () => {
    const slots = new Slots(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const work = (n: number) =>
      slots.run(async () => {
        begun.push(n);
        await new Promise<void>((resolve) => ends.push(resolve));
        if (n === 0) throw new Error('fault');
        return n;
      });
    const all = Promise.allSettled([0, 1, 2, 3].map(work));
    await Promise.resolve();
    expect(begun).toEqual([0, 1]);
    while (begun.length < 4) {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const end of ends) end();
    expect((await all).map((o) => o.status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
    expect(begun).toEqual([0, 1, 2, 3]);
  });
});

describe('a bell', () => {
  it('is heard by the one who waits and by the one who comes late, once', async () => {
    const bell = new Bell();
    const waiting = bell.heard(60_000);
    bell.ring();
    expect(await waiting).toBe(true);
    bell.ring();
    expect(await bell.heard()).toBe(true);
    expect(await bell.heard()).toBe(false);
    expect(await bell.heard(1)).toBe(false);
  });
});
