// The compiled command in a process of its own that carries out one command line after the other: each would otherwise
// take the better part of a second to load what the one before had loaded.
import { holdpoint } from '../dist/src/holdpoint.js';

process.on('message', async ({ args, env }) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  const said = { stdout: '', stderr: '' };
  const write = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const to of ['stdout', 'stderr'])
    process[to].write = (chunk) => {
      said[to] += chunk;
      return true;
    };
  try {
    const code = await holdpoint(args);
    process.send({ code, ...said });
  } finally {
    Object.assign(process.stdout, { write: write.stdout });
    Object.assign(process.stderr, { write: write.stderr });
  }
});
process.on('disconnect', () => process.exit());
