import { describe, expect, it } from '@jest/globals';
import { inexactIntegers, parseArguments, RefusedArguments } from './parse.js';

describe('parseArguments', () => {
  it('keeps every digit of an integer', () => {
    expect(parseArguments('{"id":9007199254740993,"n":-12345678901234567890}')).toEqual({
      id: 9007199254740993n,
      n: -12345678901234567890n,
    });
    expect(parseArguments('{"id":9007199254740991}')).toEqual({ id: 9007199254740991 });
    expect(parseArguments('{"id":9007199254740992}')).toEqual({ id: 9007199254740992n });
  });

  it('leaves every other number a double, minus zero included', () => {
    const { a } = parseArguments('{"a":[-0,0.1,1e3,9007199254740993.0,1e300]}') as { a: unknown[] };
    expect(a).toEqual([-0, 0.1, 1000, 9007199254740992, 1e300]);
    expect(Object.is(a[0], -0)).toBe(true);
  });

  it('says where an integer was not written as one', () => {
    const text =
      '{"a":1e1,"b":[1,1.0,{"c":1.0000000000000000001}],"z":-0,"tiny":1e-999,"big":9007199254740993.0,"fine":[0,-1,1.5,1e-2,9007199254740993]}';
    expect(inexactIntegers(parseArguments(text))).toEqual([
      ['a'],
      ['b', '1'],
      ['b', '2', 'c'],
      ['z'],
      ['tiny'],
      ['big'],
    ]);
    expect(inexactIntegers(parseArguments('{"a":10}'))).toEqual([]);
  });

  it('tells null from a field that is not there', () => {
    expect(parseArguments('{"bcc":null}')).toEqual({ bcc: null });
    expect(Object.keys(parseArguments('{"to":"a"}') as object)).toEqual(['to']);
  });

  it('gives objects that inherit nothing', () => {
    const args = parseArguments('{"a":{"b":1},"list":[{}]}') as Record<string, never>;
    for (const object of [args, args['a'], args['list']?.[0]]) expect(Object.getPrototypeOf(object)).toBeNull();
    expect(args['constructor']).toBeUndefined();
  });

  it('refuses what the scanner refuses', () => {
    expect(() => parseArguments('{"a":1,"a":2}')).toThrow(RefusedArguments);
  });
});
