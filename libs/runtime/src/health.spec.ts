import { afterEach, expect, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { checkHealth, registerHealth } from './health.js';

Logger.overrideLogger(false);

const registered: (() => void)[] = [];
const register = (...args: Parameters<typeof registerHealth>) => registered.push(registerHealth(...args));
afterEach(() => {
  for (const off of registered.splice(0)) off();
});

test('tells the passing from the failing, and does not wait for the silent', async () => {
  register('database', async () => {});
  register('bus', async () => {
    throw new Error('closed');
  });
  register('policy', () => new Promise(() => {}));
  register('broken', () => {
    throw new Error('not even a promise');
  });
  expect(await checkHealth(50)).toEqual({ passing: ['database'], failing: ['broken', 'bus', 'policy'] });
});

test('checks that share a name must all pass; one that was taken out counts no more', async () => {
  const off = registerHealth('database', async () => {
    throw new Error('old');
  });
  register('database', async () => {});
  expect(await checkHealth(50)).toEqual({ passing: [], failing: ['database'] });
  off();
  expect(await checkHealth(50)).toEqual({ passing: ['database'], failing: [] });
});
