import { describe, expect, it } from '@jest/globals';
import { type ArgumentsCode, sentenceFor } from './refusal.js';
import { scanArguments, scanLimits } from './scan.js';

const codeOf = (text: string) => {
  const scan = scanArguments(text);
  return scan.ok ? 'ok' : scan.code;
};
const nested = (levels: number) => `{"v":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

const refused: [what: string, text: string, code: ArgumentsCode][] = [
  ['nothing', '', 'arguments.empty'],
  ['white space alone', ' \n\t ', 'arguments.empty'],
  ['null', 'null', 'arguments.not-object'],
  ['an array', '[{"a":1}]', 'arguments.not-object'],
  ['a string', '"{}"', 'arguments.not-object'],
  ['a number', ' 1 ', 'arguments.not-object'],
  ['a byte order mark', '\ufeff{"a":1}', 'arguments.not-json'],
  ['a no-break space', '\u00a0{"a":1}', 'arguments.not-json'],
  ['a code fence', '```json\n{"a":1}\n```', 'arguments.not-json'],
  ['two objects', '{"a":1}{"a":2}', 'arguments.not-json'],
  ['text behind', '{"a":1} done', 'arguments.not-json'],
  ['a truncated object', '{"a":"b', 'arguments.not-json'],
  ['a truncated escape', '{"a":"\\u00', 'arguments.not-json'],
  ['a bare word', '{"query": invoices}', 'arguments.not-json'],
  ['an expression', '{"a":"rows: " + json.dumps([1,2])}', 'arguments.not-json'],
  ['single quotes', "{'a':1}", 'arguments.not-json'],
  ['an unquoted key', '{a:1}', 'arguments.not-json'],
  ['a line comment', '{"a":1}//x', 'arguments.not-json'],
  ['a block comment', '{/**/"a":1}', 'arguments.not-json'],
  ['a comma too many in an object', '{"a":1,}', 'arguments.not-json'],
  ['a comma too many in an array', '{"a":[1,]}', 'arguments.not-json'],
  ['a leading comma', '{,"a":1}', 'arguments.not-json'],
  ['a missing comma', '{"a":1 "b":2}', 'arguments.not-json'],
  ['a missing colon', '{"a" 1}', 'arguments.not-json'],
  ['a missing value', '{"a":}', 'arguments.not-json'],
  ['a wrong bracket', '{"a":[1}}', 'arguments.not-json'],
  ['NaN', '{"a":NaN}', 'arguments.not-json'],
  ['Infinity', '{"a":-Infinity}', 'arguments.not-json'],
  ['a Python literal', '{"a":True}', 'arguments.not-json'],
  ['a leading zero', '{"a":01}', 'arguments.not-json'],
  ['a leading plus', '{"a":+1}', 'arguments.not-json'],
  ['a leading point', '{"a":.5}', 'arguments.not-json'],
  ['a trailing point', '{"a":1.}', 'arguments.not-json'],
  ['an empty exponent', '{"a":1e}', 'arguments.not-json'],
  ['a hexadecimal number', '{"a":0x1f}', 'arguments.not-json'],
  ['an invalid escape', '{"path":"C:\\data"}', 'arguments.not-json'],
  ['an escape that names a property of objects', '{"a":"\\constructor"}', 'arguments.not-json'],
  ['an escape of three digits', '{"a":"\\u00g1"}', 'arguments.not-json'],
  ['a vertical tab between tokens', '{\v"a":1}', 'arguments.not-json'],
  ['a raw line break in a string', '{"body":"line one\nline two"}', 'arguments.control-character'],
  ['a raw tab in a key', '{"a\tb":1}', 'arguments.control-character'],
  ['a raw NUL in a string', '{"a":"x\0"}', 'arguments.nul'],
  ['a raw NUL outside of one', '{"a":1}\0', 'arguments.nul'],
  ['an escaped NUL', '{"path":"/tmp/ok\\u0000/../../srv"}', 'arguments.nul'],
  ['a raw high surrogate', '{"a":"\ud83c"}', 'arguments.lone-surrogate'],
  ['a raw low surrogate', '{"a":"\udf78x"}', 'arguments.lone-surrogate'],
  ['a raw pair the wrong way round', '{"a":"\udf78\ud83c"}', 'arguments.lone-surrogate'],
  ['an escaped high surrogate', '{"a":"\\ud83c"}', 'arguments.lone-surrogate'],
  ['an escaped low surrogate', '{"a":"\\uDF78"}', 'arguments.lone-surrogate'],
  ['an escaped high surrogate before another escape', '{"a":"\\ud83c\\n"}', 'arguments.lone-surrogate'],
  ['half a pair in a key', '{"\\ud83c":1}', 'arguments.lone-surrogate'],
  ['a duplicate key', '{"action":"list","action":"delete"}', 'arguments.duplicate-key'],
  ['a duplicate of the same value', '{"a":1,"a":1}', 'arguments.duplicate-key'],
  ['a duplicate below the top', '{"t":{"to":"A","n":1,"to":"B"}}', 'arguments.duplicate-key'],
  ['a duplicate in an array', '{"t":[{"a":1},{"a":1,"a":2}]}', 'arguments.duplicate-key'],
  ['a duplicate in another spelling', '{"to":"A","t\\u006f":"B"}', 'arguments.duplicate-key'],
  ['a duplicate empty key', '{"":1,"":2}', 'arguments.duplicate-key'],
  ['a pair spelled two ways', '{"\ud83c\udf78":1,"\\ud83c\\uDF78":2}', 'arguments.duplicate-key'],
  ['__proto__', '{"__proto__":{"auto":true}}', 'arguments.proto-key'],
  ['__proto__ below the top', '{"a":[{"__proto__":1}]}', 'arguments.proto-key'],
  ['__proto__ in another spelling', '{"\\u005f_proto__":1}', 'arguments.proto-key'],
  ['a number that overflows', '{"limit":1e999}', 'arguments.number-overflow'],
  ['a negative one', '{"limit":-1E400}', 'arguments.number-overflow'],
  ['one of 400 digits', `{"limit":1${'0'.repeat(400)}}`, 'arguments.number-overflow'],
  ['65 levels', nested(65), 'arguments.too-deep'],
  ['20,000 levels', nested(20_000), 'arguments.too-deep'],
  ['levels that are never closed', '{"v":'.repeat(30_000), 'arguments.too-deep'],
  ['one byte more than is taken', `{"a":"${'x'.repeat(scanLimits.maxBytes - 7)}"}`, 'arguments.too-large'],
  ['fewer characters but more bytes', `{"a":"${'€'.repeat(90_000)}"}`, 'arguments.too-large'],
];

const accepted: [what: string, text: string][] = [
  ['an empty object', '{}'],
  ['white space around tokens', ' {\r\n\t"a" : [ 1 , 2 ] , "b" : { } }\n'],
  ['every literal', '{"a":true,"b":false,"c":null}'],
  ['every escape', '{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"}'],
  ['every form of number', '{"a":[0,-0,1,-12,0.5,1.25e3,1E-2,1e+2]}'],
  ['an integer beyond 2^53', '{"id":9007199254740993}'],
  ['a number that underflows', '{"a":1e-999}'],
  ['an escaped pair', '{"command":"echo \\ud83c\\udf78"}'],
  ['a raw pair', '{"command":"echo \ud83c\udf78"}'],
  ['a zero-width character', '{"path":"/srv/prod\u200b/db"}'],
  ['line separators in a string', '{"a":"\u2028\u2029\u007f\u0085"}'],
  ['the same key in two objects', '{"a":{"x":1},"b":{"x":1},"x":1}'],
  ['keys that differ in case', '{"action":"list","Action":"delete"}'],
  ['names of inherited properties', '{"constructor":1,"prototype":2,"toString":3,"hasOwnProperty":4}'],
  ['__proto__ as a value', '{"a":"__proto__"}'],
  ['64 levels', nested(64)],
  ['10,000 keys', `{${Array.from({ length: 10_000 }, (_, i) => `"k${i}":${i}`).join()}}`],
  ['the most that is taken, to the byte', `{"a":"${'x'.repeat(scanLimits.maxBytes - 8)}"}`],
];

describe('scanArguments', () => {
  it.each(refused)('refuses %s', (_what, text, code) => {
    const scan = scanArguments(text);
    expect(scan).toEqual({ ok: false, code, at: expect.any(Number), message: sentenceFor(code) });
  });

  it.each(accepted)('accepts %s', (_what, text) => {
    expect(codeOf(text)).toBe('ok');
    expect(() => JSON.parse(text)).not.toThrow();
  });

  it('says where', () => {
    expect(scanArguments('{"a":1,"a":2}')).toMatchObject({ at: 7 });
    expect(scanArguments('{"a":1} x')).toMatchObject({ at: 8 });
    expect(scanArguments('{"a":"\\u0000"}')).toMatchObject({ at: 6 });
  });

  it('takes its limits from the caller', () => {
    expect(codeOf(nested(3))).toBe('ok');
    expect(scanArguments(nested(3), { maxBytes: 100, maxDepth: 2 })).toMatchObject({ code: 'arguments.too-deep' });
    expect(scanArguments('{"a":1}', { maxBytes: 6, maxDepth: 64 })).toMatchObject({ code: 'arguments.too-large' });
  });
});
