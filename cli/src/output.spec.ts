import { expect, test } from '@jest/globals';
import { typedUnder } from './output.js';

test('what to type next is what can be typed here', () => {
  for (const npm of ['run', 'run-script']) expect(typedUnder(npm)).toBe('npm run --silent holdpoint --');
  for (const other of [undefined, 'test', 'start']) expect(typedUnder(other)).toBe('holdpoint');
});
