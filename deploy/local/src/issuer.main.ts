import { z } from 'zod';
import { childSettings } from './child-environment.js';
import { startDevelopmentIssuer } from './development-issuer.js';

const settings = childSettings(
  z.object({
    port: z.number(),
    keyFile: z.string(),
    people: z.array(z.object({ id: z.string(), name: z.string(), secret: z.string().min(16) })),
  }),
);
const server = await startDevelopmentIssuer(settings);
const stop = () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
};
process.on('disconnect', stop);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
process.send?.('ready');
