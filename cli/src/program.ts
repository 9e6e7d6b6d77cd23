import { Command } from 'commander';
import { Client } from './client.js';
import { cancel } from './commands/cancel.js';
import { chain } from './commands/chain.js';
import { check } from './commands/check.js';
import { type DecideOptions, decide } from './commands/decide.js';
import { doubts, type SettleOptions, settle } from './commands/doubts.js';
import { pending } from './commands/pending.js';
import { run } from './commands/run.js';
import { show } from './commands/show.js';
import { tasks } from './commands/tasks.js';
import { loadSettings } from './settings.js';

interface Everywhere {
  json?: boolean;
  as?: string;
}

/** The whole command line. Each action tells `exit` the code to end with. */
export function program(exit: (code: number) => void): Command {
  const root = new Command('holdpoint')
    .description('Look at what agents want to do and cannot undo, and decide on it.')
    .option('--json', 'one JSON document on stdout; errors as problem JSON on stderr')
    .option('--as <person>', 'act as this person (default: HOLDPOINT_AS, else ada)')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Type --help after any command to see how it is used.')
    .addHelpText(
      'after',
      '\nFinds a running system by HOLDPOINT_HOME. HOLDPOINT_TOKEN takes the place of a person.\nExits with 0 when all is well, 1 when something was refused, failed or found, 2 when it was typed wrongly.',
    );

  const asked = (c: Command) => c.optsWithGlobals<Everywhere>();
  const client = (c: Command) => new Client(loadSettings(asked(c).as));

  root
    .command('run')
    .description('give an agent a task and wait for its answer')
    .argument('<agent>', 'name of the agent')
    .argument('<prompt...>', 'what it should do')
    .option('--conversation <id>', 'go on in this conversation')
    .option('--no-wait', 'return at once')
    .action(async (agent: string, prompt: string[], o: { conversation?: string; wait: boolean }, c: Command) =>
      exit(await run(client(c), agent, prompt, { ...o, ...asked(c) })),
    );
  root
    .command('cancel')
    .description('end a run; an effect that is under way is finished first')
    .argument('<run>', 'id of the run')
    .action(async (id: string, _o: object, c: Command) => exit(await cancel(client(c), id, asked(c))));
  root
    .command('pending')
    .description('list the calls that wait for a person')
    .option('--space <space>', 'of this space alone')
    .action(async (o: { space?: string }, c: Command) => exit(await pending(client(c), { ...o, ...asked(c) })));
  root
    .command('show')
    .description('show a held call with everything that it would do')
    .argument('<call>', 'acme#42 or an id')
    .action(async (ref: string, _o: object, c: Command) => exit(await show(client(c), ref, asked(c))));

  for (const [decision, does] of [
    ['approve', 'release a held call, exactly as it was shown'],
    ['reject', 'refuse a held call'],
  ] as const)
    root
      .command(decision)
      .description(does)
      .argument('<call>', 'acme#42 or an id')
      .option('--reason <text>', 'what the agent is told')
      .option('--digest <digest>', 'digest of what was seen; any other call is refused')
      .option('--yes', 'do not ask; without --digest, decide on whatever stands there now')
      .action(async (ref: string, o: DecideOptions, c: Command) =>
        exit(await decide(client(c), decision, ref, { ...o, ...asked(c) })),
      );

  root
    .command('doubts')
    .description('list the calls of which nobody knows whether they took effect')
    .action(async (_o: object, c: Command) => exit(await doubts(client(c), asked(c))));
  root
    .command('settle')
    .description('say what became of a call in doubt')
    .argument('<call>', 'acme#42 or an id')
    .option('--happened', 'it took effect')
    .option('--did-not-happen', 'it did not')
    .option('--note <text>', 'how you know')
    .action(async (ref: string, o: SettleOptions, c: Command) =>
      exit(await settle(client(c), ref, { ...o, ...asked(c) })),
    );
  root
    .command('tasks')
    .description('list tasks, the latest first')
    .option('--state <state>', 'in this state alone')
    .option('--space <space>', 'of this space alone')
    .option('--conversation <id>', 'of this conversation alone')
    .action(async ({ ...o }: object, c: Command) =>
      exit(await tasks(client(c), { ...o, json: asked(c).json === true })),
    );
  root
    .command('chain')
    .description('print a run or a call event by event, from the stream')
    .argument('<id>', 'a run, a call, or acme#42')
    .action(async (ref: string, _o: object, c: Command) => exit(await chain(client(c), ref, asked(c))));
  root
    .command('check')
    .description('hold the whole stream against the rules')
    .option('--settled', 'nothing is under way: whatever needs no person must have ended')
    .action(async (o: { settled?: boolean }, c: Command) =>
      exit(await check(loadSettings(asked(c).as), { ...o, ...asked(c) })),
    );
  return root;
}
