import { provisionBus } from '@holdpoint/provision';
import { z } from 'zod';
import { childSettings } from './child-environment.js';

await provisionBus(childSettings(z.object({ servers: z.string(), password: z.string() })));
process.disconnect?.();
