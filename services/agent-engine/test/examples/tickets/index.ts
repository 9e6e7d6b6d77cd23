import { z } from 'zod';
import { defineAction, didNotHappen, done, mayNotBegin, type Tool, unknown } from '../../../src/tools/tool.js';

/** The tool exists when TICKETS_URL is set. */
export const ticketsConfig = {
  TICKETS_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('the http(s):// URL of the help desk'),
};

const open = z.strictObject({
  action: z.literal('open'),
  title: z.string().min(1).max(200),
  text: z.string().max(10_000),
});

export const ticketsTool = (url: string): Tool => ({
  name: 'Tickets',
  description: 'Tickets of the help desk.',
  actions: [
    defineAction({
      name: 'open',
      description: 'Opens a ticket.',
      hint: 'write',
      scope: 'user',
      executionClass: 'at-most-once',
      schema: open,
      timeoutMs: 10_000,
      async run({ title, text }, ctx) {
        const withheld = await mayNotBegin(ctx);
        if (withheld) return didNotHappen(withheld);
        try {
          const answer = await fetch(url, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ title, text }),
            redirect: 'error',
            signal: ctx.signal,
          });
          if (answer.ok) return done(`Opened: ${(await answer.text()).slice(0, 1_000)}`);
          // a time-out or too many requests say nothing of the ticket, nor does the help desk's own trouble
          if (answer.status >= 400 && answer.status < 500 && ![408, 429].includes(answer.status))
            return didNotHappen(`The help desk refused it (status ${answer.status}).`);
          return unknown(`The help desk answered with status ${answer.status}.`);
        } catch (error) {
          return notConnected(error)
            ? didNotHappen('The help desk could not be reached, so no ticket was opened.')
            : unknown('The ticket was sent, but the help desk did not say whether it took it.');
        }
      },
      preview: async ({ title, text }) => ({ kind: 'facts', facts: Object.entries({ title, text }).map(fact) }),
    }),
  ],
});

const fact = ([label, value]: [string, string]) => ({ label, value });

/** No connection came about, so nothing was sent. A connection that broke off later says nothing. */
const notConnected = (error: unknown): boolean => {
  const { code } = ((error as Error).cause ?? {}) as { code?: string };
  return code !== undefined && ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(code);
};
