import { problem } from '@holdpoint/contracts';
import { expect, test } from '@jest/globals';
import { Refusal, type RefusalKind } from '../refusal.js';
import { kindOf, plainProblem, refusalProblem } from './problem.js';

test('extras never replace a standard member', () => {
  const refusal = new Refusal('conflict', 'staging.call-closed', 'It was decided.', {
    extras: { status: 200, code: 'x', type: 'x', title: 'x', detail: 'x', decidedBy: 'ada' },
  });
  expect(refusalProblem(refusal)).toEqual({
    type: 'urn:holdpoint:problem:staging.call-closed',
    title: 'Conflict',
    status: 409,
    detail: 'It was decided.',
    code: 'staging.call-closed',
    decidedBy: 'ada',
  });
});

test('a kind and its status name each other', () => {
  const kinds: RefusalKind[] = [
    'invalid',
    'unauthenticated',
    'forbidden',
    'not-found',
    'conflict',
    'gone',
    'too-large',
    'unprocessable',
    'unavailable',
  ];
  for (const kind of kinds) expect(kindOf(refusalProblem(new Refusal(kind, 'a.b', 'c')).status)).toBe(kind);
  expect(kindOf(418)).toBe('unprocessable');
});

test('what the framework refuses says what to do', () => {
  for (const status of [400, 404, 405, 408, 413, 414, 415, 418, 431, 503]) {
    const plain = problem.strict().parse(plainProblem(status));
    expect(plain).toMatchObject({ type: 'about:blank', status });
    expect(plain.detail?.length).toBeGreaterThan(20);
  }
});
