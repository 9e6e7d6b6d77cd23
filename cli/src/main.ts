#!/usr/bin/env node
import { holdpoint } from './holdpoint.js';

// a reader that has seen enough, such as `head`, ends the command quietly
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0);
  throw error;
});

process.exitCode = await holdpoint(process.argv.slice(2));
