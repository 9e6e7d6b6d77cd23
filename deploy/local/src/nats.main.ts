import { type BusUser, startNats } from '@holdpoint/provision';
import { z } from 'zod';
import { childSettings } from './child-environment.js';
import { guard } from './guard.js';

const settings = childSettings(
  z.object({
    run: z.string(),
    dir: z.string(),
    port: z.number(),
    passwords: z.record(z.string(), z.string()),
    consumers: z.array(z.object({ name: z.string(), subjects: z.array(z.string()), password: z.string() })),
    binary: z.string(),
    logFile: z.string(),
  }),
);
const passwords = settings.passwords as Record<BusUser, string>;
await guard(settings.run, 'nats', () => startNats({ ...settings, passwords, durable: true }));
