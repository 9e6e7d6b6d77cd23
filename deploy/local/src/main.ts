import { parseArgs } from 'node:util';
import { loadSettings } from './settings.js';
import { supervise } from './supervisor.js';

const say = (line: string) => console.log(line);
const stop = new AbortController();
// Ctrl-C arrives twice, from the terminal and from npm: the second changes nothing.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
process.on('disconnect', () => stop.abort());
// A terminal that is closed must not cut the stop short.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

try {
  const { values } = parseArgs({
    options: { traces: { type: 'boolean', default: false }, servers: { type: 'boolean', default: false } },
  });
  const env = {
    ...process.env,
    ...(values.traces ? { HOLDPOINT_TRACES: 'on' } : {}),
    ...(values.servers ? { HOLDPOINT_SERVERS: 'only' } : {}),
  };
  await supervise(loadSettings(env), say, stop.signal);
  process.exit(0);
} catch (err) {
  console.error(`Holdpoint cannot start: ${err instanceof Error ? err.message : err}`);
  process.exit(1);
}
