import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@holdpoint/provision';
import { eventually } from './eventually.js';

const PROFTPD = '/usr/sbin/proftpd';
const MODULES = '/usr/lib/proftpd';
/** Of `nobody`: as root, the server takes on this user for a session, so that permissions count. */
const NOBODY = 65_534;

export interface FtpServer {
  port: number;
  user: string;
  password: string;
  /** The folder that its files are in; with TLS or not, the URL's path is this folder. */
  root: string;
  url: string;
  /** The certificate, which is its own authority; undefined without TLS. */
  caFile: string | undefined;
  /** A folder or file made here has to belong to the one who logs in. */
  give(path: string): Promise<void>;
  /** What clients had done, as `<answer> <command>`, such as `250 DELE /path`. */
  log(): Promise<string[]>;
  /** Kills the server and every session without warning; `restart` brings it back on the same port. */
  kill9(): Promise<void>;
  restart(): Promise<void>;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
}

export interface FtpOptions {
  /** Default none. */
  tls?: 'none' | 'explicit' | 'implicit';
  /** Further lines of its configuration. */
  config?: string[];
}

/**
 * A real proftpd on 127.0.0.1 with one login and a root of its own.
 * @throws when proftpd or openssl is missing: what to install
 */
export async function startFtp(options: FtpOptions = {}): Promise<FtpServer> {
  const tls = options.tls ?? 'none';
  const missing = [PROFTPD, ...(tls === 'none' ? [] : [join(MODULES, 'mod_tls.so')])].find((f) => !existsSync(f));
  if (missing)
    throw new Error(`${missing} is missing; install it: apt-get install proftpd-core proftpd-mod-crypto openssl`);
  const home = await mkdtemp(join(tmpdir(), 'holdpoint-ftp-'));
  await chmod(home, 0o711);
  const root = join(home, 'root');
  const asRoot = process.getuid?.() === 0;
  const [uid, gid] = asRoot ? [NOBODY, NOBODY] : [process.getuid?.() ?? NOBODY, process.getgid?.() ?? NOBODY];
  const give = (path: string) => (asRoot ? chown(path, uid, gid) : Promise.resolve());
  await mkdir(root);
  await give(root);
  const [user, password, port] = ['agent', 'secret: of/the agent', await freePort()];
  const openssl = (...args: string[]) => execFileSync('openssl', args, { encoding: 'utf8', stdio: 'pipe' }).trim();
  const hash = openssl('passwd', '-6', password);
  await writeFile(join(home, 'users'), `${user}:${hash}:${uid}:${gid}::${root}:/bin/false\n`, { mode: 0o600 });
  const [cert, key] = [join(home, 'cert.pem'), join(home, 'key.pem')];
  if (tls !== 'none') {
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    openssl(
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...[...subject, '-keyout', key, '-out', cert],
    );
    await chmod(key, 0o600);
  }
  const config = join(home, 'proftpd.conf');
  await writeFile(
    config,
    `${[
      ...(tls === 'none' ? [] : [`ModulePath ${MODULES}`, 'LoadModule mod_tls.c']),
      'ServerType standalone',
      'DefaultAddress 127.0.0.1',
      'SocketBindTight on',
      'UseIPv6 off',
      `Port ${port}`,
      ...(asRoot ? ['User nobody', 'Group nogroup'] : []),
      `AuthUserFile ${join(home, 'users')}`,
      'AuthOrder mod_auth_file.c',
      'RequireValidShell off',
      'AllowOverwrite on',
      'AllowStoreRestart on',
      'UseReverseDNS off',
      'WtmpLog off',
      'TransferLog none',
      'DelayEngine off',
      `ScoreboardFile ${join(home, 'scoreboard')}`,
      `PidFile ${join(home, 'pid')}`,
      `SystemLog ${join(home, 'system.log')}`,
      'LogFormat commands "%s %r"',
      `ExtendedLog ${join(home, 'commands.log')} ALL commands`,
      ...(tls === 'none'
        ? []
        : [
            'TLSEngine on',
            'TLSRequired on',
            `TLSECCertificateFile ${cert}`,
            `TLSECCertificateKeyFile ${key}`,
            ...(tls === 'implicit' ? ['TLSOptions UseImplicitSSL'] : []),
          ]),
      ...(options.config ?? []),
    ].join('\n')}\n`,
  );
  let server: ChildProcess | undefined;
  let said = '';
  const start = async () => {
    // a group of its own, which its sessions stay in
    const child = spawn(PROFTPD, ['-n', '-q', '-c', config], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
    server = child;
    await eventually(
      () => {
        if (child.exitCode !== null) throw new Error(`proftpd ended with ${child.exitCode}: ${said}`);
        return answers(port);
      },
      { what: 'proftpd to answer' },
    );
  };
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    const ending = server;
    server = undefined;
    if (ending?.pid === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = once(ending, 'exit');
    process.kill(-ending.pid, signal);
    await gone;
  };
  await start().catch(async (error: unknown) => {
    await end('SIGKILL');
    await rm(home, { recursive: true, force: true });
    throw error;
  });
  const scheme = tls === 'implicit' ? 'ftps' : 'ftp';
  return {
    port,
    user,
    password,
    root,
    url: `${scheme}://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}${root}`,
    caFile: tls === 'none' ? undefined : cert,
    give,
    log: async () => {
      const text = await readFile(join(home, 'commands.log'), 'utf8').catch(() => '');
      return text.split('\n').filter(Boolean);
    },
    kill9: () => end('SIGKILL'),
    restart: async () => {
      await end('SIGTERM');
      await start();
    },
    stop: async () => {
      await end('SIGTERM');
      await rm(home, { recursive: true, force: true });
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
