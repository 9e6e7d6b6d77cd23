import { InvalidEvent } from '@holdpoint/contracts';
import { Unavailable } from '@holdpoint/runtime';
import { describe, expect, it } from '@jest/globals';
import { explain } from './dead-letters.js';
import { Discard } from './event-context.js';

describe('what is told of an error', () => {
  it('is its kind and place, never the text of a stranger', () => {
    let error: unknown;
    try {
      JSON.parse('SECRET');
    } catch (err) {
      error = err;
    }
    expect(explain(error)).toMatch(/^SyntaxError at /);
    expect(explain(error)).not.toContain('SECRET');
    expect(explain(Object.assign(new Error('SECRET'), { code: '23505' }))).toMatch(/^Error 23505 at /);
    expect(explain('SECRET')).toBe('string');
    expect(explain({ message: 'SECRET' })).toBe('object');
  });

  it('is the text of our own errors, with the kind of their cause', () => {
    expect(explain(new InvalidEvent('call.staged: data.number: invalid_type'))).toContain('data.number');
    expect(explain(new Discard('of no use'))).toBe('Discard: of no use');
    expect(explain(new Unavailable('no answer', { cause: new Error('SECRET') }))).toMatch(
      /^Unavailable: no answer, because of Error at /,
    );
    expect(explain(new Unavailable('no answer', { cause: new Error('SECRET') }))).not.toContain('SECRET');
  });

  it('cannot steer a terminal and is bounded', () => {
    expect(explain(new Discard('\u001b[2J'))).not.toContain('\u001b');
    expect(explain(new Discard('x'.repeat(10_000))).length).toBeLessThanOrEqual(500);
  });
});
