import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FtpServer, startFtp } from '@holdpoint/testing';
import type { Probe } from './probe.js';

/** FTP at a real server, which both probes share; counted by what it says that it did, in its own log. */
export function ftpProbes(): Probe[] {
  let started: Promise<FtpServer> | undefined;
  const server = () => {
    started ??= startFtp();
    return started;
  };
  const remote = async () => {
    const { url, stop } = await server();
    return { env: { FTP_URL: url, FTP_TIMEOUT_MS: '3000' }, stop };
  };
  const counted = async (verb: string, name: string) =>
    (await (await server()).log()).filter((l) => l.startsWith(`250 ${verb} `) && l.endsWith(`/${name}`)).length;
  return [
    {
      name: 'FTP.upload',
      executionClass: 'reconcilable',
      remote,
      args: (n) => JSON.stringify({ action: 'upload', path: `u${n}.txt`, content: `uploaded ${n}\r\n` }),
      effects: (_stack, { n }) => counted('RNTO', `u${n}.txt`),
    },
    {
      name: 'FTP.delete',
      executionClass: 'at-most-once',
      remote,
      args: (n) => JSON.stringify({ action: 'delete', path: `d${n}.txt` }),
      prepare: async (_stack, n) => {
        const { root, give } = await server();
        const path = join(root, `d${n}.txt`);
        await writeFile(path, 'to be deleted\n');
        await give(path);
      },
      effects: (_stack, { n }) => counted('DELE', `d${n}.txt`),
    },
  ];
}
