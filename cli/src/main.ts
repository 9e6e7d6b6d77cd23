#!/usr/bin/env node
import { type Command, CommanderError } from 'commander';
import { Failure, failed, misused } from './failure.js';
import { complain } from './output.js';
import { program } from './program.js';

const json = process.argv.includes('--json');
const command = program((code) => {
  process.exitCode = code;
}).exitOverride();

// a reader that has seen enough, such as `head`, ends the command quietly
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0);
  throw error;
});

const below = (c: Command): Command[] => c.commands.flatMap((sub) => [sub, ...below(sub)]);
if (json) for (const c of [command, ...below(command)]) c.configureOutput({ writeErr: () => {} });
for (const c of below(command)) c.exitOverride();

try {
  await command.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    const asked = error.code === 'commander.helpDisplayed' || error.code === 'commander.version';
    process.exitCode = asked ? 0 : 2;
    if (json && !asked) complain(misused(error.message.replace(/^error: /, '')).problem, true);
  } else {
    const failure =
      error instanceof Failure ? error : failed('cli.internal', `The command broke: ${(error as Error).message}`);
    process.exitCode = failure.exitCode;
    complain(failure.problem, json);
  }
}
