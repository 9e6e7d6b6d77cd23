import { startPostgres } from '@holdpoint/provision';
import { z } from 'zod';
import { childSettings } from './child-environment.js';
import { guard } from './guard.js';

const settings = childSettings(
  z.object({ run: z.string(), dir: z.string(), port: z.number(), password: z.string(), logFile: z.string() }),
);
await guard(settings.run, 'postgres', () => startPostgres({ ...settings, durable: true }));
