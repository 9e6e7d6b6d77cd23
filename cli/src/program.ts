import { Command } from 'commander';
import { auditCommands } from './audit-commands.js';
import { Client } from './client.js';
import { type AnalysisOptions, analyse } from './commands/audit-analysis.js';
import { cancel } from './commands/cancel.js';
import { chain } from './commands/chain.js';
import { check } from './commands/check.js';
import { deadLetters, replay } from './commands/dead-letters.js';
import { type DecideOptions, decide } from './commands/decide.js';
import { doubts, type SettleOptions, settle } from './commands/doubts.js';
import { pending } from './commands/pending.js';
import { run } from './commands/run.js';
import { show } from './commands/show.js';
import { type TailOptions, tail } from './commands/tail.js';
import { commandTask, createTask, tasks } from './commands/tasks.js';
import { withdraw } from './commands/withdraw.js';
import { typedWrongly } from './output.js';
import { loadSettings } from './settings.js';
import { spaceCommands } from './space-commands.js';

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
    .configureOutput({ outputError: (text, write) => write(typedWrongly(text)) })
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
    .command('withdraw')
    .description('take a held call back; also for the person that it acts for')
    .argument('<call>', 'acme#42 or an id')
    .option('--reason <text>', 'what the agent is told')
    .action(async (ref: string, o: { reason?: string }, c: Command) =>
      exit(await withdraw(client(c), ref, { ...o, ...asked(c) })),
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
    .option('--propose-anew', 'it did not, and the same arguments are proposed again as a new call')
    .option('--note <text>', 'how you know')
    .action(async (ref: string, o: SettleOptions, c: Command) =>
      exit(await settle(client(c), ref, { ...o, ...asked(c) })),
    );
  const board = root.command('tasks').description('what agents are to do: list, create, retry, cancel');
  board
    .command('list', { isDefault: true })
    .description('list tasks, the latest first')
    .option('--state <state>', 'in this state alone')
    .option('--space <space>', 'of this space alone')
    .option('--conversation <id>', 'of this conversation alone')
    .action(async ({ ...o }: object, c: Command) =>
      exit(await tasks(client(c), { ...o, json: asked(c).json === true })),
    );
  board
    .command('create')
    .description('have an agent do something, now or later, without waiting for it')
    .argument('<agent>', 'name of the agent')
    .argument('<prompt...>', 'what it should do')
    .option('--space <space>', 'the space, for whoever has several')
    .option('--conversation <id>', 'go on in this conversation')
    .option('--due <time>', 'not before, such as 2030-01-31T09:00:00Z')
    .option('--key <key>', 'the same key makes the same task, however often it is sent')
    .action(async (agent: string, prompt: string[], o: object, c: Command) =>
      exit(await createTask(client(c), agent, prompt, { ...o, ...asked(c) })),
    );
  for (const [command, does] of [
    ['retry', 'open a dead task again'],
    ['cancel', 'end a task that is not finished, and its run'],
  ] as const)
    board
      .command(command)
      .description(does)
      .argument('<task>', 'its id')
      .action(async (ref: string, _o: object, c: Command) =>
        exit(await commandTask(client(c), command, ref, asked(c))),
      );
  const auditLog = root.command('audit').description('what the audit log tells, and whether it is what was signed');
  for (const [command, does] of [
    ['error-rates', 'how the calls of each tool and action ended'],
    ['held', 'how many of the calls of each tool and action were put before a person'],
    ['approval-times', 'how long it took until held calls were decided'],
    ['costs', 'what the outcomes of each agent cost: a task with all its runs, or a run that had none'],
  ] as const)
    auditLog
      .command(command)
      .description(does)
      .option('--space <space>', 'of this space alone')
      .option('--from <time>', 'not before, such as 2030-01-31T09:00:00Z')
      .option('--to <time>', 'before')
      .option('--bucket <span>', 'by hour or by day')
      .action(async (o: AnalysisOptions, c: Command) => exit(await analyse(client(c), command, { ...o, ...asked(c) })));
  auditCommands(auditLog, { client, asked, exit });
  root
    .command('chain')
    .description('print a run or a call event by event, from the stream')
    .argument('<id>', 'a run, a call, or acme#42')
    .action(async (ref: string, _o: object, c: Command) => exit(await chain(client(c), ref, asked(c))));
  root
    .command('tail')
    .description('follow what happens, event by event, until Ctrl-C')
    .option('--space <space>', 'in this space alone')
    .option('--type <type>', 'of this type alone: tool.executed, or tool for all that begin so')
    .option('--call <call>', 'of this call alone: acme#42 or an id')
    .option('--run <run>', 'of this run alone')
    .option('--since <seq>', 'from behind this number of the stream; 0 is from the beginning')
    .action(async (o: TailOptions, c: Command) => exit(await tail(client(c), { ...o, ...asked(c) })));
  root
    .command('check')
    .description('hold the whole stream against the rules')
    .option('--settled', 'nothing is under way: whatever needs no person must have ended')
    .action(async (o: { settled?: boolean }, c: Command) =>
      exit(await check(loadSettings(asked(c).as), { ...o, ...asked(c) })),
    );

  spaceCommands(root, { client, asked, exit });

  const letters = root.command('dead-letters').description('what the services could not handle');
  letters
    .command('list', { isDefault: true })
    .description('list what was given up, over all services')
    .option('--state <state>', 'in this state: failing, recovered, dead (default), replayed')
    .action(async (o: { state?: string }, c: Command) => exit(await deadLetters(client(c), { ...o, ...asked(c) })));
  letters
    .command('replay')
    .description('have a dead letter handled once more')
    .argument('[service]', 'engine, policy, staging or taskboard')
    .argument('[id]', 'the number that the list shows')
    .option('--all', 'every letter that is dead, over all services')
    .action(async (service: string | undefined, id: string | undefined, o: { all?: boolean }, c: Command) =>
      exit(await replay(client(c), service, id, { ...o, ...asked(c) })),
    );
  return root;
}
