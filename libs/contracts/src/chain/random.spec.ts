import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stored } from '../../test/chain/make.js';
import { mutations } from '../../test/chain/mutate.js';
import { World } from '../../test/chain/world.js';
import { checkStream, StreamCheck } from './check.js';

const deep = process.env['HOLDPOINT_DEEP'] === '1';
const seed = Number(process.env['HOLDPOINT_SEED'] ?? 20_260_101);
const runs = deep ? 50_000 : 2_000;
const tape = fc.array(fc.noBias(fc.nat(0xffff)), { minLength: 5, maxLength: 90, size: 'max' });

describe(`random streams, HOLDPOINT_SEED=${seed}`, () => {
  it('finds nothing in a valid stream, at rest or cut anywhere', () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(tape, fc.nat(), (choices, at) => {
        const { stream } = new World(choices).settle();
        for (const e of stream) kinds.add(e.type);
        const cut = at % stream.length;
        const check = new StreamCheck();
        for (const m of stored(stream)) {
          if (m.seq === cut) expect(check.finish().violations).toEqual([]);
          check.add(m);
        }
        expect(check.finish({ settled: true }).violations).toEqual([]);
        // once its head is lost, nobody can tell a copy of a first event from the first event
        expect(checkStream(stored([...new Set(stream)]).slice(cut)).violations).toEqual([]);
      }),
      { seed, numRuns: runs },
    );
    // the generator reaches every event of the two tables
    expect([...kinds].sort()).toHaveLength(18);
  });

  it.each(Object.entries(mutations))('finds %s', (_name, { applies, apply }) => {
    let tried = 0;
    fc.assert(
      fc.property(tape, fc.nat(), fc.nat(), (choices, where, other) => {
        const { stream } = new World(choices).settle();
        for (let i = 0; i < stream.length; i++) {
          const at = (where + i) % stream.length;
          if (!applies(stream, at, other)) continue;
          tried++;
          const { violations } = checkStream(stored(apply(stream, at, other)), { settled: true });
          expect(violations.length).toBeGreaterThan(0);
          return;
        }
      }),
      { seed, numRuns: runs / 5 },
    );
    expect(tried).toBeGreaterThan(runs / 10);
  });
});
