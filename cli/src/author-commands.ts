import type { Command } from 'commander';
import type { Client } from './client.js';
import { type BacktestOptions, backtest } from './commands/policy-backtest.js';
import { type ExplainOptions, explain, lint } from './commands/policy-explain.js';
import { testPolicy } from './commands/policy-test.js';

interface Surroundings {
  client: (c: Command) => Client;
  asked: (c: Command) => { json?: boolean };
  exit: (code: number) => void;
}

const SPACE = ['--space <space>', 'the space, for whoever has several'] as const;
const DRAFT = ['--draft <file>', 'by these rules: a holdpoint.yaml, or JSON as `rules show --json` prints'] as const;

/** For people who write rules: nothing of this changes what is in force. */
export function authorCommands(policy: Command, { client, asked, exit }: Surroundings): void {
  policy
    .command('explain')
    .description('what would become of a call, and which rules say so')
    .argument('<action>', 'such as Mail.send, or server/tool')
    .requiredOption('--agent <agent>', 'that would call it')
    .option('--arguments <text>', 'to be looked at for flags; kept nowhere')
    .option(...DRAFT)
    .option(...SPACE)
    .action(async (action: string, o: ExplainOptions, c: Command) =>
      exit(await explain(client(c), action, { ...o, ...asked(c) })),
    );
  policy
    .command('lint')
    .description('what is wrong with rules, before they are in force')
    .argument('<file>', 'a holdpoint.yaml, or JSON as `rules show --json` prints')
    .option(...SPACE)
    .action(async (file: string, o: object, c: Command) => exit(await lint(client(c), file, { ...o, ...asked(c) })));
  policy
    .command('test')
    .description('hold the verdicts on calls against those that a file expects')
    .argument('<file>', 'YAML: `calls`, each with `call`, `agent` and `expect`')
    .option(...DRAFT)
    .option(...SPACE)
    .action(async (file: string, o: object, c: Command) =>
      exit(await testPolicy(client(c), file, { ...o, ...asked(c) })),
    );
  policy
    .command('backtest')
    .description('what rules would have changed for the calls of the past; for owners and admins')
    .argument('<file>', 'a holdpoint.yaml, or JSON as `rules show --json` prints')
    .option(
      '--since <time>',
      'calls decided then or later: a time such as 2026-01-31T09:00:00Z, or how long ago, such as 7d',
    )
    .option('--limit <n>', 'so many calls at most, the latest first')
    .option('--samples <n>', 'so many calls to look at for each change, at most 20')
    .option(...SPACE)
    .action(async (file: string, o: BacktestOptions, c: Command) =>
      exit(await backtest(client(c), file, { ...o, ...asked(c) })),
    );
}
