import { afterAll, expect, it } from '@jest/globals';
import { Files } from './files.js';
import { type Line, Log, Signer, textOf } from './log.js';
import { random } from './stories.js';

const files = new Files();
afterAll(() => files.close());

const log = new Log(12, 41).fill(12);
log.checkpoint();
log.rotate(new Signer('second'));
log.fill(26);
const kept = [log.checkpoint()];
log.fill(40).checkpoint();

/** What no signature covers, as docs/verify-an-export.md says; everything else is. */
function isNotProved(before: Line, after: Line): boolean {
  const changed = Object.keys(before).filter((k) => JSON.stringify(before[k]) !== JSON.stringify(after[k]));
  const [name] = changed;
  if (changed.length !== 1 || Object.keys(before).join() !== Object.keys(after).join()) return false;
  if (before.kind === 'event') return name === 'time';
  if (before.kind === 'holdpoint-export') return name === 'filter';
  // a second signature, turned into one of somebody whom nobody knows
  const text = (l: Line) => String(l['note']).split('\n\n')[0];
  return (
    before.kind === 'checkpoint' && String(before['note']).split('— ').length === 3 && text(before) === text(after)
  );
}

const SAMPLES = process.env['HOLDPOINT_DEEP'] ? 20_000 : 120;

it.each([
  ['a whole export', log.export()],
  ['a filtered one', log.export({ keep: (m) => !m.subject.startsWith('policy.'), older: [26] })],
])(
  `of ${SAMPLES} random bytes of %s each that is changed is found, or is of what nothing proves`,
  async (_what, lines) => {
    const next = random(2030);
    const texts = lines.map((l) => textOf([l]));
    const whole = Buffer.from(texts.join(''));
    expect((await files.check(whole, { kept })).exitCode).toBe(0);
    for (let i = 0; i < SAMPLES; i++) {
      // a line first, or the long ones would have all of them
      const line = Math.floor(next() * texts.length);
      const start = Buffer.byteLength(texts.slice(0, line).join(''));
      const at = start + Math.floor(next() * Buffer.byteLength(texts[line] as string));
      const changed = Buffer.from(whole);
      changed[at] = next() < 0.5 ? (changed[at] as number) ^ (1 << Math.floor(next() * 8)) : Math.floor(next() * 256);
      if (changed.equals(whole)) continue;
      const report = await files.check(changed, { kept });
      if (report.exitCode !== 0) continue;
      const after = JSON.parse(`${changed}`.split('\n')[line] as string);
      expect([texts[line], after, isNotProved(JSON.parse(texts[line] as string), after)]).toEqual([
        texts[line],
        after,
        true,
      ]);
    }
  },
);
