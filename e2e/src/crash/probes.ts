import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@holdpoint/local';
import pg from 'pg';
import { ftpProbes } from './ftp.js';
import { mailFiled } from './mail-filed.js';
import type { Probe } from './probe.js';
import { telegramProbe } from './telegram.js';

/** Counts how often a name came or went in a folder: each rename into place and each removal is one. */
class Moves {
  readonly #seen = new Map<string, number>();
  #watcher: FSWatcher | undefined;

  begin(folder: string): void {
    this.#watcher ??= watch(folder, { persistent: false }, (event, name) => {
      if (event === 'rename' && name) this.#seen.set(name, (this.#seen.get(name) ?? 0) + 1);
    });
  }

  of(name: string): number {
    return this.#seen.get(name) ?? 0;
  }
}

/** The probes of one system; they keep what they have seen. */
export function makeProbes(): Probe[] {
  const moves = new Moves();
  return [
    {
      name: 'Mail.send',
      executionClass: 'at-most-once',
      args: (n) =>
        JSON.stringify({ action: 'send', to: ['a@example.test'], subject: `Mail ${n}`, body: `Body ${n}\n` }),
      effects: async (stack, { id }) => {
        const folder = stack.paths.outbox;
        const mails = await Promise.all((await readdir(folder)).map((f) => readFile(join(folder, f), 'utf8')));
        return mails.filter((m) => new RegExp(`^message-id:\\s*<${id}@`, 'im').test(m)).length;
      },
    },
    {
      name: 'FileRW.write',
      executionClass: 'reconcilable',
      args: (n) => JSON.stringify({ action: 'write', path: `w${n}.txt`, content: `written ${n}\n` }),
      prepare: async (stack) => moves.begin(stack.paths.workspace),
      effects: async (_stack, { n }) => moves.of(`w${n}.txt`),
    },
    {
      name: 'FileRW.delete',
      executionClass: 'at-most-once',
      args: (n) => JSON.stringify({ action: 'delete', path: `d${n}.txt` }),
      prepare: (stack, n) => writeFile(join(stack.paths.workspace, `d${n}.txt`), 'to be deleted\n'),
      effects: async (stack, { n }) => ((await readdir(stack.paths.workspace)).includes(`d${n}.txt`) ? 0 : 1),
    },
    {
      name: 'Database.insert',
      executionClass: 'keyed',
      args: (n) =>
        JSON.stringify({
          action: 'insert',
          table: 'orders',
          rows: [{ customer: 1, article: `probe ${n}`, quantity: 1, unit_price: '1.00', ordered_on: '2024-01-01' }],
        }),
      effects: (stack, { n }) => count(stack, 'SELECT FROM orders WHERE article = $1', `probe ${n}`),
    },
    {
      name: 'Database.upsert',
      executionClass: 'idempotent',
      args: (n) =>
        JSON.stringify({
          action: 'upsert',
          table: 'customers',
          key: ['name'],
          rows: [{ name: `probe ${n}`, contact: 'Ada', email: `probe-${n}@example.test` }],
        }),
      effects: (stack, { n }) => count(stack, 'SELECT FROM customers WHERE name = $1', `probe ${n}`),
    },
    mailFiled(),
    telegramProbe(),
    ...ftpProbes(),
  ];
}

/** Rows of the demonstration's database, asked for as somebody who can only read it. */
async function count(stack: Stack, query: string, value: string): Promise<number> {
  const port = /postgres:\/\/127\.0\.0\.1:(\d+)\/demo/.exec(stack.output())?.[1];
  const { demo } = JSON.parse(await readFile(stack.paths.secrets, 'utf8')) as { demo: { demo_reader: string } };
  const login = {
    user: 'demo_reader',
    password: demo.demo_reader,
    database: 'demo',
    host: '127.0.0.1',
    port: Number(port),
  };
  const client = new pg.Client(login);
  await client.connect();
  try {
    return (await client.query(query, [value])).rowCount ?? 0;
  } finally {
    await client.end();
  }
}
