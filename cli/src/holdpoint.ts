import { type Command, CommanderError } from 'commander';
import { Failure, failed, misused } from './failure.js';
import { complain } from './output.js';
import { program } from './program.js';

/** What is typed behind `holdpoint`, carried out on this process's own streams. @returns the code to end with */
export async function holdpoint(args: readonly string[]): Promise<number> {
  let code = 0;
  const json = args.includes('--json');
  const command = program((ended) => {
    code = ended;
  }).exitOverride();
  const below = (c: Command): Command[] => c.commands.flatMap((sub) => [sub, ...below(sub)]);
  if (json) for (const c of [command, ...below(command)]) c.configureOutput({ writeErr: () => {} });
  for (const c of below(command)) c.exitOverride();

  try {
    await command.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      const asked = error.code === 'commander.helpDisplayed' || error.code === 'commander.version';
      if (json && !asked) complain(misused(error.message.replace(/^error: /, '')).problem, true);
      return asked ? 0 : 2;
    }
    const failure =
      error instanceof Failure ? error : failed('cli.internal', `The command broke: ${(error as Error).message}`);
    complain(failure.problem, json);
    return failure.exitCode;
  }
}
