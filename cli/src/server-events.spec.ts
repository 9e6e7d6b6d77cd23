import { expect, it } from '@jest/globals';
import { serverEvents } from './server-events.js';

const bytes = new TextEncoder().encode(
  ': hello\n\nid: a\nevent: x\ndata: {"n":"ä\u2028"}\n\ndata: 1\ndata: 2\r\n\r\ndata: cut off',
);

it.each([1, 3, 7, bytes.length])('reads events however they are cut into chunks, %d bytes each', async (size) => {
  async function* chunks() {
    for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
  }
  const events: string[] = [];
  for await (const e of serverEvents(chunks())) events.push(e);
  expect(events).toEqual(['{"n":"ä\u2028"}', '1\n2']);
});
