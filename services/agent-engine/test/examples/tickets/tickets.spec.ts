import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ticketsTool } from './index.js';

describe('Tickets', () => {
  const tickets: unknown[] = [];
  let answer: (response: ServerResponse) => void;
  const desk = createServer(async (request, response) => {
    tickets.push(JSON.parse(await text(request)));
    answer(response);
  });
  let url: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => desk.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(desk.address() as AddressInfo).port}/`;
  });
  afterAll(() => void desk.close());
  beforeEach(() => {
    tickets.length = 0;
    answer = (response) => response.end('ticket 1');
  });

  const ticket = { action: 'open', title: 'Printer', text: 'It is on fire.' };
  const open = async (more: { stillLeased?: () => boolean } = {}) =>
    ticketsTool(url).actions[0]?.run(ticket, {
      callId: 'c1',
      spaceId: 'acme',
      attempt: 1,
      signal: AbortSignal.timeout(5_000),
      ...more,
    });

  it('opens one ticket, with what was released', async () => {
    expect(await open()).toEqual({ kind: 'done', result: 'Opened: ticket 1' });
    expect(tickets).toEqual([{ title: 'Printer', text: 'It is on fire.' }]);
  });

  it.each([
    ['refuses', (r: ServerResponse) => r.writeHead(422).end(), 'did-not-happen'],
    ['is in trouble', (r: ServerResponse) => r.writeHead(503).end(), 'unknown'],
    ['cuts the connection after the request', (r: ServerResponse) => r.destroy(), 'unknown'],
  ] as const)('a help desk that %s', async (_, how, kind) => {
    answer = how;
    expect((await open())?.kind).toBe(kind);
  });

  it('nothing is sent without a lease, nor where nobody listens', async () => {
    expect((await open({ stillLeased: () => false }))?.kind).toBe('did-not-happen');
    expect(tickets).toEqual([]);
    await new Promise((resolve) => desk.close(resolve));
    expect((await open())?.kind).toBe('did-not-happen');
  });
});
