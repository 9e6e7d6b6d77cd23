import type { Command } from 'commander';
import type { Client } from './client.js';
import { type ExportOptions, exportLog } from './commands/audit-export.js';
import { checkpoint, keys, proof } from './commands/audit-proofs.js';
import { type VerifyOptions, verifyExport } from './commands/audit-verify.js';

interface Use {
  client: (c: Command) => Client;
  asked: (c: Command) => { json?: boolean };
  exit: (code: number) => void;
}

/** What an outsider needs to hold the log against what was signed. */
export function auditCommands(audit: Command, { client, asked, exit }: Use): void {
  audit
    .command('export')
    .description('write the log and its proofs to a file; goes on where a file was cut off')
    .requiredOption('--out <file>', 'the file')
    .option('--space <space>', 'of this space alone; several with commas between')
    .option('--tool <tool>', 'of the calls of this tool alone')
    .option('--run <run>', 'of this run alone')
    .option('--from <time>', 'not before, such as 2030-01-31T09:00:00Z')
    .option('--to <time>', 'before')
    .option('--opened', 'with the content of your spaces in the clear')
    .action(async (o: ExportOptions, c: Command) => exit(await exportLog(client(c), { ...o, ...asked(c) })));
  audit
    .command('checkpoint')
    .description('print the latest signed checkpoint, to keep it elsewhere')
    .action(async (_o: object, c: Command) => exit(await checkpoint(client(c))));
  audit
    .command('keys')
    .description('print the public keys that sign the checkpoints')
    .action(async (_o: object, c: Command) => exit(await keys(client(c), asked(c))));
  audit
    .command('proof')
    .description('prove that an event is in the log that the latest checkpoint signs')
    .argument('<seq>', 'its number in the stream')
    .action(async (seq: string, _o: object, c: Command) => exit(await proof(client(c), seq)));
  const several = (value: string, before: string[]): string[] => [...before, value];
  audit
    .command('verify')
    .description('check an export against the key and the checkpoints that you kept; asks nobody')
    .argument('<file>', 'the export')
    .option('--key <vkey>', 'the public key of the log, or a file that holds it; may be repeated', several, [])
    .option('--checkpoint <file>', 'a checkpoint that you kept elsewhere; may be repeated', several, [])
    .option('--against <file>', 'an older export that you kept: names the very events that differ')
    .action(async (file: string, o: VerifyOptions, c: Command) =>
      exit(await verifyExport(file, { ...o, ...asked(c) })),
    );
}
