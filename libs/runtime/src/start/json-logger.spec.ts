import { afterEach, expect, jest, test } from '@jest/globals';
import type { BaseConfig } from '../config.js';
import { KnownSecrets } from '../secrets/known-secrets.js';
import { JsonLogger, keepOutOfLogs } from './json-logger.js';

afterEach(() => {
  jest.restoreAllMocks();
});

function lines(level: BaseConfig['LOG_LEVEL'], use: (log: JsonLogger) => void): Record<string, unknown>[] {
  const written: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  use(new JsonLogger('policy', level));
  expect(written.every((w) => w.endsWith('\n') && !w.slice(0, -1).includes('\n'))).toBe(true);
  raw = written.join('');
  return written.map((w) => JSON.parse(w));
}
let raw = '';

test('one object a line, on stdout, errors too', () => {
  const [info, error] = lines('info', (log) => {
    log.log('hello', { callId: 'c1' }, 'Gate');
    log.error('it broke', new Error('outer', { cause: new Error('inner') }), 'Gate');
    log.debug('unheard', 'Gate');
  });
  expect(info).toMatchObject({
    level: 'info',
    service: 'policy',
    message: 'hello',
    context: 'Gate',
    params: { callId: 'c1' },
  });
  expect(error).toMatchObject({
    level: 'error',
    message: 'it broke',
    error: { message: 'outer', cause: { message: 'inner' } },
  });
});

test('text of a stranger cannot make a line, steer a terminal or hide', () => {
  const hostile = 'ok\n{"level":"info"}\u001b[2J\u009b31m\u202eevil\u2066\u200b\u2028\u{e0041}\ud800';
  const [entry] = lines('info', (log) => log.warn(hostile));
  expect(entry?.['message']).toBe(hostile);
  expect(raw.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
});

test('the level is a threshold', () => {
  const heard = lines('error', (log) => {
    log.warn('a');
    log.error('b');
    log.fatal('c');
  });
  expect(heard.map((h) => h['message'])).toEqual(['b', 'c']);
  expect(lines('debug', (log) => log.debug('d'))).toHaveLength(1);
});

test('known secrets and what looks like one are masked, and a line stays JSON', () => {
  keepOutOfLogs(new KnownSecrets([{ name: 'PIN', value: 'grün "und" blau', label: '{{secret:PIN}}' }]));
  const [entry] = lines('info', (log) => {
    log.error(
      'it said grün "und" blau',
      { auth: { password: 'hunter2', n: 1 } },
      new Error('postgres://u:hunter2@h/x'),
    );
  });
  expect(raw).not.toMatch(/grün|hunter2/);
  expect(entry).toMatchObject({ message: 'it said {{secret:PIN}}' });
});
