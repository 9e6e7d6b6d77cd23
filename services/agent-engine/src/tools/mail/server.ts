import { isIPv4 } from 'node:net';

/** Where a mail server is, and who we are there. */
export interface MailServer {
  host: string;
  port: number;
  /** TLS from the first byte. */
  secure: boolean;
  auth: { user: string; pass: string } | null;
}

const PORTS: Record<string, number> = { 'smtp:': 587, 'smtps:': 465, 'imap:': 143, 'imaps:': 993 };

/** `smtp://[user:password@]host[:port]`, and likewise `smtps:`, `imap:` and `imaps:`, each with its customary port. */
export function mailServer(url: string): MailServer {
  const u = new URL(url);
  return {
    host: u.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(u.port) || (PORTS[u.protocol] ?? 0),
    secure: u.protocol === 'smtps:' || u.protocol === 'imaps:',
    auth: u.username ? { user: decodeURIComponent(u.username), pass: decodeURIComponent(u.password) } : null,
  };
}

/** There a password crosses no network. A name such as `127.example.org` is none of it. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
