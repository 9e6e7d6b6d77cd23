import { describe, expect, test } from '@jest/globals';
import { isInfrastructureFault, Unavailable } from './faults.js';
import { Refusal } from './refusal.js';

const coded = (code: string) => Object.assign(new Error('x'), { code });
const named = (name: string) => Object.assign(new Error('x'), { name });

describe('isInfrastructureFault', () => {
  test.each([
    '57P01',
    '57P02',
    '57P03',
    '08006',
    '08001',
    '53300',
    '53100',
    '58030',
    '40001',
    '40P01',
    '55P03',
    '57014',
    '28P01',
    '25006',
  ])('SQLSTATE %s is one', (code) => expect(isInfrastructureFault(coded(code))).toBe(true));
  test.each(['23505', '22P02', '42P01', '42501', '22021', 'P0001', 'XX000', '99999'])('SQLSTATE %s is none', (code) =>
    expect(isInfrastructureFault(coded(code))).toBe(false),
  );
  test.each(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'])('%s is one', (code) =>
    expect(isInfrastructureFault(coded(code))).toBe(true),
  );
  test.each(['EADDRINUSE', 'ENOENT', 'EACCES'])('%s is none', (code) =>
    expect(isInfrastructureFault(coded(code))).toBe(false),
  );
  test.each(['TimeoutError', 'NoRespondersError', 'ClosedConnectionError', 'ConnectionError'])('the bus: %s', (name) =>
    expect(isInfrastructureFault(named(name))).toBe(true),
  );
  test('the database client without a code', () => {
    expect(isInfrastructureFault(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isInfrastructureFault(new Error('timeout exceeded when trying to connect'))).toBe(true);
  });
  test('behind a cause, and among several', () => {
    expect(isInfrastructureFault(new Error('outer', { cause: new Unavailable('policy is away') }))).toBe(true);
    expect(isInfrastructureFault(new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]))).toBe(true);
  });
  test('a refusal is one only when it says unavailable, whatever caused it', () => {
    expect(isInfrastructureFault(new Refusal('unavailable', 'x.y', 'Wait.'))).toBe(true);
    expect(isInfrastructureFault(new Refusal('conflict', 'x.y', 'No.', { cause: coded('57P01') }))).toBe(false);
  });
  test('a bug is none, nor is what is no error, nor a cause that bites its tail', () => {
    const ring = new Error('ring');
    ring.cause = ring;
    for (const no of [new TypeError('x is not a function'), ring, 'ECONNREFUSED', null, undefined, {}])
      expect(isInfrastructureFault(no)).toBe(false);
  });
});
