import { expect, it } from '@jest/globals';
import { serverEvents } from './server-events.js';

const bytes = new TextEncoder().encode(
  ': hello\n\nid: a\nevent: x\ndata: {"n":"ä\u2028"}\n\ndata: 1\ndata: 2\r\n\r\n: still\nid: b\n\ndata: cut off',
);

it.each([1, 3, 7, bytes.length])('reads events however they are cut into chunks, %d bytes each', async (size) => {
  async function* chunks() {
    for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
  }
  const events: object[] = [];
  for await (const e of serverEvents(chunks())) events.push(e);
  expect(events).toEqual([
    { lastId: 'a', data: '{"n":"ä\u2028"}' },
    { lastId: 'a', data: '1\n2' },
    { lastId: 'b', data: null },
  ]);
});
