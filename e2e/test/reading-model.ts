import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';

interface Message {
  role: string;
  content: string | null;
}
interface Reply {
  text: string;
  call?: { tool: string; arguments: object };
}
interface Mail {
  from: string;
  subject: string;
  text: string;
}

export const MODEL = 'reading-model:1b';

/**
 * A server of one model that speaks OpenAI's chat completions. It has no script: what it says next it works out from the
 * conversation that it is sent, such as whom a mail came from and what it says.
 */
export async function startReadingModel() {
  const asked: { authorization: string | undefined; model: string }[] = [];
  const server = createServer(async (request, response) => {
    if (request.url === '/v1/models')
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ object: 'list', data: [{ id: MODEL, object: 'model' }] }));
    if (request.url !== '/v1/chat/completions') return response.writeHead(404).end();
    const body = JSON.parse(await text(request)) as { model: string; messages: Message[] };
    asked.push({ authorization: request.headers.authorization, model: body.model });
    await stream(response, think(body.messages), asked.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function think(messages: Message[]): Reply {
  const at = messages.findLastIndex((m) => m.role === 'user');
  const wish = messages[at]?.content ?? '';
  const since = messages.slice(at + 1).filter((m) => m.role === 'tool');
  const last = since.at(-1)?.content ?? '';
  const inbox = messages.flatMap((m) => (m.role === 'tool' && m.content?.startsWith('[{') ? [m.content] : [])).at(-1);
  const mails = inbox === undefined ? [] : (JSON.parse(inbox) as Mail[]);

  if (/was rejected/.test(wish)) return { text: 'Then I leave it.' };
  if (/was approved and executed/.test(wish)) {
    if (since.length > 0) return { text: 'A note of it is written.' };
    const content = `Sent on ${/acme#\d+/.exec(wish)?.[0]}.\n`;
    return {
      text: 'It is out.',
      call: { tool: 'FileRW', arguments: { action: 'write', path: 'notes/sent.txt', content } },
    };
  }
  if (last.startsWith('Submitted for approval')) return { text: 'A person will decide about my mail.' };
  if (/newsletter/.test(wish))
    return answer(
      mails.find((m) => /This week/.test(m.subject)),
      'Please take us off the list.\n',
    );
  if (/inbox/.test(wish)) {
    if (since.length === 0) return { text: 'I look.', call: { tool: 'Mail', arguments: { action: 'read_inbox' } } };
    const complaint = mails.find((m) => /Could you check/.test(m.text));
    if (since.length === 1) {
      const sql =
        'SELECT o.quantity, o.unit_price FROM invoices i JOIN orders o ON o.id = i.order_id WHERE i.number = $1';
      const params = [/Invoice ([\d-]+)/.exec(complaint?.subject ?? '')?.[1]];
      return { text: 'I look it up.', call: { tool: 'Database', arguments: { action: 'query', sql, params } } };
    }
    const { rows } = JSON.parse(last) as { rows: { quantity: number; unit_price: number }[] };
    const { quantity = 0, unit_price: price = 0 } = rows[0] ?? {};
    const sum = `${quantity} × ${price.toFixed(2)} EUR = ${(quantity * price).toFixed(2)} EUR`;
    return answer(complaint, `You are right: ${sum} — a corrected invoice follows. 請查收 👩‍💼\n`);
  }
  return { text: 'I do not know what to do.' };
}

function answer(mail: Mail | undefined, body: string): Reply {
  const to = /<([^>]+)>/.exec(mail?.from ?? '')?.[1];
  if (!mail || !to) return { text: 'There is nothing to answer.' };
  return {
    text: 'I answer.',
    call: { tool: 'Mail', arguments: { action: 'send', to: [to], subject: `Re: ${mail.subject}`, body } },
  };
}

/** In small pieces, cut without regard to characters. Its call ids begin anew in each answer, as those of many servers do. */
async function stream(response: ServerResponse, reply: Reply, count: number): Promise<void> {
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ id: `chat-${count}`, object: 'chat.completion.chunk', created: 1, model: MODEL, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const events = [chunk({ role: 'assistant', content: reply.text })];
  if (reply.call) {
    events.push(
      chunk({
        tool_calls: [{ index: 0, id: 'call_0', type: 'function', function: { name: reply.call.tool, arguments: '' } }],
      }),
    );
    const written = JSON.stringify(reply.call.arguments);
    for (let at = 0; at < written.length; at += 7)
      events.push(chunk({ tool_calls: [{ index: 0, function: { arguments: written.slice(at, at + 7) } }] }));
  }
  events.push(chunk({}, reply.call ? 'tool_calls' : 'stop'));
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  events.push(
    `data: ${JSON.stringify({ id: `chat-${count}`, object: 'chat.completion.chunk', created: 1, model: MODEL, choices: [], usage })}\n\n`,
  );
  events.push('data: [DONE]\n\n');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const bytes = Buffer.from(events.join(''));
  for (let at = 0; at < bytes.length; at += 501) {
    response.write(bytes.subarray(at, at + 501));
    await turn();
  }
  response.end();
}
