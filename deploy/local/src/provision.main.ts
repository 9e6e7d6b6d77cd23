import { provisionBus } from '@holdpoint/provision';
import { z } from 'zod';
import { childSettings } from './child-environment.js';

process.on('disconnect', () => process.exit(1));
await provisionBus(
  childSettings(
    z.object({
      servers: z.string(),
      password: z.string(),
      ackWaitMs: z.number(),
      consumers: z.array(z.object({ name: z.string(), subjects: z.array(z.string()) })),
    }),
  ),
);
process.exit(0);
