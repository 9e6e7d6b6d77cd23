import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';

export const ftpConfig = {
  /** Without it the tool does not exist. */
  FTP_URL: z
    .url({ protocol: /^ftps?$/ })
    .refine((u) => baseOf(u) !== undefined, 'the base path has a name that is not plain')
    .optional()
    .describe('ftp://[user:password@]host[:port]/base/path, or ftps:// for TLS from the start'),
  FTP_TLS: z.enum(['explicit', 'implicit', 'none']).optional().describe('explicit, implicit or none'),
  /** Of the authority that signed the server's certificate, in place of the well-known ones. */
  FTP_CA_FILE: z.string().refine(isAbsolute).optional().describe('an absolute path of a PEM file'),
  /** Lets a password and all content cross a network in the clear. */
  FTP_ALLOW_PLAINTEXT: z.enum(['0', '1']).default('0').describe('1 or 0'),
  /** How long an action may take; a rename or removal that is not answered for by then has an unknown end. */
  FTP_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(100)
    .max(600_000)
    .default(60_000)
    .describe('a number of milliseconds from 100 to 600000'),
};
export type FtpConfig = z.infer<z.ZodObject<typeof ftpConfig>>;

export interface FtpServer {
  host: string;
  port: number;
  user: string;
  password: string;
  tls: 'explicit' | 'implicit' | 'none';
  tlsOptions: ConnectionOptions;
  /** Names below the server's root, as the login sees it, that lead to what agents may touch. */
  base: readonly string[];
  timeoutMs: number;
}

/** A name that merely begins like such an address is somewhere else. */
const loopback = (host: string) =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
const hostOf = (url: URL) => url.hostname.replace(/^\[(.*)\]$/, '$1');

/** Undefined where a name of the base path, once decoded, could be read as something else. */
function baseOf(url: string): string[] | undefined {
  try {
    const { pathname, username, password } = new URL(url);
    const names = pathname.split('/').filter(Boolean).map(decodeURIComponent);
    const told = [...names, decodeURIComponent(username), decodeURIComponent(password)];
    const plain = told.every((n) => !/\p{Cc}/u.test(n)) && names.every((n) => !/^\.+$|[/\\]/.test(n));
    return plain ? names : undefined;
  } catch {
    return undefined;
  }
}

/** TLS unless the server is on this machine. */
const tlsOf = (c: Pick<FtpConfig, 'FTP_TLS'>, url: URL): FtpServer['tls'] =>
  c.FTP_TLS ?? (url.protocol === 'ftps:' ? 'implicit' : loopback(hostOf(url)) ? 'none' : 'explicit');

/** What is wrong with the settings taken together: the variable, and what it must be. */
export function ftpContradiction(c: FtpConfig): { variable: keyof FtpConfig; message: string } | undefined {
  if (c.FTP_URL === undefined) return undefined;
  const url = new URL(c.FTP_URL);
  const tls = tlsOf(c, url);
  if (url.protocol === 'ftps:' && tls !== 'implicit')
    return { variable: 'FTP_TLS', message: 'must be implicit with ftps://; write ftp:// for anything else' };
  if (tls === 'none' && !loopback(hostOf(url)) && c.FTP_ALLOW_PLAINTEXT !== '1')
    return {
      variable: 'FTP_TLS',
      message:
        'must be explicit or implicit: without TLS password and files cross the network in the clear, unless FTP_ALLOW_PLAINTEXT=1 allows it',
    };
  return undefined;
}

/** @throws at start, when the file of the authority cannot be read or the settings contradict each other */
export function ftpServer(config: FtpConfig & { FTP_URL: string }): FtpServer {
  const wrong = ftpContradiction(config);
  if (wrong) throw new Error(`${wrong.variable} ${wrong.message}`);
  const url = new URL(config.FTP_URL);
  const host = hostOf(url);
  const tls = tlsOf(config, url);
  return {
    host,
    port: Number(url.port) || (tls === 'implicit' ? 990 : 21),
    user: decodeURIComponent(url.username) || 'anonymous',
    password: decodeURIComponent(url.password) || 'anonymous@',
    tls,
    tlsOptions: {
      ...(config.FTP_CA_FILE === undefined ? {} : { ca: readFileSync(config.FTP_CA_FILE) }),
      ...(isIP(host) ? {} : { servername: host }),
    },
    base: baseOf(config.FTP_URL) ?? [],
    timeoutMs: config.FTP_TIMEOUT_MS,
  };
}
