import type { CallPreview } from '@holdpoint/contracts';
import { z } from 'zod';
import { defineAction, type Tool } from '../tool.js';
import { listOpen, place } from './broker.js';

/** The tool exists when ORDERS_URL is set. */
export const ordersConfig = {
  ORDERS_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("the http(s):// URL of the broker's API"),
  ORDERS_TOKEN: z.string().min(1).optional().describe("a token for the broker's API"),
};

/** As text: a number of the model's could be rounded on its way. */
const decimal = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,11})(?:\.\d{1,8})?$/, 'expected a decimal number as text, such as "12.50"')
  .refine((n) => /[1-9]/.test(n), 'expected more than 0');

const placeOrder = z.strictObject({
  action: z.literal('place'),
  instrument: z.string().regex(/^[A-Z0-9][A-Z0-9.:-]{0,31}$/, 'expected a symbol, such as "ACME" or "XETR:ACM"'),
  side: z.enum(['buy', 'sell']),
  quantity: decimal,
  limitPrice: decimal,
});

const openOrders = z.strictObject({ action: z.literal('list_open') });

export function ordersTool(config: { ORDERS_URL: string; ORDERS_TOKEN?: string | undefined }): Tool {
  const broker = { url: config.ORDERS_URL, token: config.ORDERS_TOKEN };
  return {
    name: 'Orders',
    description: 'Trading orders at the broker. Every order is a limit order for today.',
    actions: [
      defineAction({
        name: 'place',
        description: 'Places one limit order. quantity and limitPrice are decimal numbers as text.',
        hint: 'write',
        scope: 'user',
        // the broker takes our call id as its idempotency key: placing it again places nothing more
        executionClass: 'keyed',
        schema: placeOrder,
        timeoutMs: 20_000,
        run: ({ action: _, ...order }, ctx) => place(broker, order, ctx),
        preview: async ({ action: _, ...order }): Promise<CallPreview> => ({
          kind: 'facts',
          facts: Object.entries(order).map(([label, value]) => ({ label, value })),
        }),
      }),
      defineAction({
        name: 'list_open',
        description: 'Lists the orders that are open.',
        hint: 'read',
        scope: 'user',
        executionClass: 'idempotent',
        schema: openOrders,
        timeoutMs: 20_000,
        run: (_, ctx) => listOpen(broker, ctx),
      }),
    ],
  };
}
