import type { Command } from 'commander';
import { authorCommands } from './author-commands.js';
import type { Client } from './client.js';
import { type EraseOptions, erase } from './commands/erase.js';
import { type HaltOptions, halt, halts, lift } from './commands/halts.js';
import { addMember, members, removeMember, setGroups, setRole } from './commands/members.js';
import { allow, policyAudit, revoke, showPolicy } from './commands/space-policy.js';
import { rulesAudit, setRules, showRules } from './commands/space-rules.js';
import { spaces } from './commands/spaces.js';

interface Surroundings {
  client: (c: Command) => Client;
  asked: (c: Command) => { json?: boolean };
  exit: (code: number) => void;
}

const SPACE = ['--space <space>', 'the space, for whoever has several'] as const;
const OLDER = ['--before <cursor>', 'older ones, from where a listing ended'] as const;

/** What spaces decide for themselves: who belongs to them, opt-ins, rules, halts. */
export function spaceCommands(root: Command, { client, asked, exit }: Surroundings): void {
  root
    .command('spaces')
    .description('list the spaces that you are a member of')
    .action(async (_o: object, c: Command) => exit(await spaces(client(c), asked(c))));

  const people = root.command('members').description('who belongs to a space: list, add, role, groups, remove');
  people
    .command('list', { isDefault: true })
    .description('list them, with role and groups')
    .option(...SPACE)
    .action(async (o: object, c: Command) => exit(await members(client(c), { ...o, ...asked(c) })));
  people
    .command('add')
    .description('make somebody a member')
    .argument('<person>', 'the id that they sign in with')
    .option(...SPACE)
    .requiredOption('--role <role>', 'owner, admin or member')
    .option('--name <name>', 'how they are shown')
    .option('--groups <groups>', 'separated by commas')
    .action(async (user: string, o: { role: string }, c: Command) =>
      exit(await addMember(client(c), user, { ...o, ...asked(c) })),
    );
  people
    .command('role')
    .description('give a member another role')
    .argument('<person>', 'the id that they sign in with')
    .argument('<role>', 'owner, admin or member')
    .option(...SPACE)
    .action(async (user: string, to: string, o: object, c: Command) =>
      exit(await setRole(client(c), user, to, { ...o, ...asked(c) })),
    );
  people
    .command('groups')
    .description('put a member into exactly these groups')
    .argument('<person>', 'the id that they sign in with')
    .argument('[groups...]', 'none takes them out of all')
    .option(...SPACE)
    .action(async (user: string, names: string[], o: object, c: Command) =>
      exit(await setGroups(client(c), user, names, { ...o, ...asked(c) })),
    );
  people
    .command('remove')
    .description('take a member out of the space')
    .argument('<person>', 'the id that they sign in with')
    .option(...SPACE)
    .action(async (user: string, o: object, c: Command) =>
      exit(await removeMember(client(c), user, { ...o, ...asked(c) })),
    );

  const policy = root
    .command('policy')
    .description(
      'which destructive actions a space allows: show, allow, revoke, audit; and for rules: explain, lint, test, backtest',
    );
  policy
    .command('show', { isDefault: true })
    .description('list them, and what else of that kind its agents have')
    .option(...SPACE)
    .action(async (o: object, c: Command) => exit(await showPolicy(client(c), { ...o, ...asked(c) })));
  policy
    .command('allow')
    .description('let agents do something that cannot be undone, without asking anybody')
    .argument('<action...>', 'such as FileRW.purge_folder')
    .option(...SPACE)
    .option('--acknowledge', 'you know that it cannot be undone; nobody is asked')
    .action(async (actions: string[], o: object, c: Command) =>
      exit(await allow(client(c), actions, { ...o, ...asked(c) })),
    );
  policy
    .command('revoke')
    .description('take that back, at once')
    .argument('<action...>', 'such as FileRW.purge_folder')
    .option(...SPACE)
    .action(async (actions: string[], o: object, c: Command) =>
      exit(await revoke(client(c), actions, { ...o, ...asked(c) })),
    );
  policy
    .command('audit')
    .description('who allowed and revoked what, the latest first')
    .option(...SPACE)
    .option('--limit <n>', 'how many at most, 1 to 200')
    .option(...OLDER)
    .action(async (o: object, c: Command) => exit(await policyAudit(client(c), { ...o, ...asked(c) })));

  authorCommands(policy, { client, asked, exit });

  const rules = root.command('rules').description("a space's own rules: show, set, audit");
  rules
    .command('show', { isDefault: true })
    .description('list them')
    .option(...SPACE)
    .action(async (o: object, c: Command) => exit(await showRules(client(c), { ...o, ...asked(c) })));
  rules
    .command('set')
    .description('replace all of them by those of a file')
    .argument('<file>', 'JSON, as `rules show --json` prints it')
    .option(...SPACE)
    .action(async (file: string, o: object, c: Command) =>
      exit(await setRules(client(c), file, { ...o, ...asked(c) })),
    );
  rules
    .command('audit')
    .description('who added and removed which rule, the latest first')
    .option(...SPACE)
    .option('--limit <n>', 'how many at most, 1 to 200')
    .option(...OLDER)
    .action(async (o: object, c: Command) => exit(await rulesAudit(client(c), { ...o, ...asked(c) })));

  root
    .command('halt')
    .description('stop an agent, a space or everything, at once; nothing is undone')
    .option(...SPACE)
    .option('--agent <agent>', 'this agent of the space alone')
    .option('--everything', 'every space; for operators')
    .requiredOption('--reason <text>', 'what everybody is told')
    .action(async (o: HaltOptions, c: Command) => exit(await halt(client(c), { ...o, ...asked(c) })));
  root
    .command('lift')
    .description('end a halt')
    .argument('<halt>', 'its id')
    .action(async (id: string, _o: object, c: Command) => exit(await lift(client(c), id, asked(c))));
  root
    .command('halts')
    .description('list what is halted')
    .option('--space <space>', 'that hold for this space')
    .option('--all', 'those that were lifted as well')
    .action(async (o: object, c: Command) => exit(await halts(client(c), { ...o, ...asked(c) })));
  root
    .command('erase')
    .description('destroy the keys of content, for good: entries and proofs stay, nothing can be read any more')
    .option(...SPACE)
    .option('--conversation <id>', 'this conversation alone')
    .option('--person <person>', 'conversations in which this person took part')
    .option('--before <time>', 'conversations in which nothing has run since')
    .option('--everything', 'every conversation of the space')
    .requiredOption('--reason <text>', 'stands in the event, in plain text')
    .option('--yes', 'nobody is asked')
    .action(async (o: EraseOptions, c: Command) => exit(await erase(client(c), { ...o, ...asked(c) })));
}
