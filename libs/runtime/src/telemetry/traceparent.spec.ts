import { expect, test } from '@jest/globals';
import { formatTraceparent, parseTraceparent } from './traceparent.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test.each(['00', '01'])('what was written is read again, flags %s', (flags) => {
  const text = `00-${TRACE}-${SPAN}-${flags}`;
  const read = parseTraceparent(text);
  expect(read).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags: Number(flags), isRemote: true });
  expect(read && formatTraceparent(read)).toBe(text);
});

test.each([
  undefined,
  null,
  '',
  ['00', TRACE, SPAN, '01'],
  `00-${TRACE}-${SPAN}-01 `,
  `00-${TRACE}-${SPAN}-01\nx`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `01-${TRACE}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}`,
])('%j is none', (text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});
