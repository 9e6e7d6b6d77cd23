import { z } from 'zod';
import { childSettings } from './child-environment.js';
import { startTraceServer } from './traces/trace-server.js';

const server = await startTraceServer(childSettings(z.object({ port: z.number() })));
const stop = () => void server.stop().then(() => process.exit(0));
process.on('disconnect', stop);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
process.send?.('ready');
