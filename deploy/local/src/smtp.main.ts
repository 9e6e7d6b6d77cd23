import { z } from 'zod';
import { childSettings } from './child-environment.js';
import { startSmtpSink } from './smtp-sink.js';

const settings = childSettings(z.object({ port: z.number(), outbox: z.string() }));
const sink = await startSmtpSink(settings);
const stop = () => void sink.stop().then(() => process.exit(0));
process.on('disconnect', stop);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
process.send?.('ready');
