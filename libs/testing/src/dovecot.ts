import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort, startServer } from '@holdpoint/provision';
import { ENVIRONMENT, testEnvironment } from './environment.js';

const DOVECOT = '/usr/sbin/dovecot';
/** Of `nobody`: as root, the server reads mail as this user, as it refuses to be root for that. */
const NOBODY = 65_534;

export interface Dovecot {
  port: number;
  /** TLS from the first byte; only with `tls`. */
  tlsPort: number;
  /** Of every user. */
  password: string;
  /** The certificate, which is its own authority; undefined without TLS. */
  ca: string | undefined;
  /** In the clear, for the user. Any name is a user, with a mailbox of their own. */
  url(user: string): string;
  /** The maildir of a user's mailbox, made if it is not there: INBOX, or one of a name without dots. */
  maildir(user: string, mailbox?: string): Promise<string>;
  /** Puts a mail into the maildir as a delivery does: a server that looks sees all of it or nothing. */
  deliver(user: string, mailbox: string, name: string, mail: string | Uint8Array): Promise<void>;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
}

/**
 * A real IMAP server on 127.0.0.1 over maildirs.
 * @throws when dovecot is missing: what to install
 */
export async function startDovecot(options: { tls?: boolean } = {}): Promise<Dovecot> {
  const { tls = false } = options;
  if (!existsSync(DOVECOT))
    throw new Error(`${DOVECOT} is missing; install it: apt-get install --no-install-recommends dovecot-imapd openssl`);
  const underJest = process.env[ENVIRONMENT] !== undefined;
  const dir = await mkdtemp(join(tmpdir(), 'holdpoint-imap-'));
  // the server's processes run as users of its own
  await chmod(dir, 0o711);
  const asRoot = process.getuid?.() === 0;
  const { uid, gid } = asRoot ? { uid: NOBODY, gid: NOBODY } : userInfo();
  const own = async (folder: string) => {
    await mkdir(folder, { recursive: true });
    if (asRoot) await chown(folder, uid, gid);
  };
  await own(join(dir, 'mail'));
  const [port, tlsPort] = [await freePort(), await freePort()];
  const password = 'secret/of:the@agent';
  const ca = tls ? certificate(dir) : undefined;
  const config = join(dir, 'dovecot.conf');
  await writeFile(config, configuration({ dir, port, tlsPort, tls, password, uid, gid, asRoot }));
  const { server } = await startServer({
    command: DOVECOT,
    args: ['-F', '-c', config],
    logFile: join(dir, 'log'),
    timeoutMs: 15_000,
    ready: async () => (await greets(port)) || undefined,
  });
  // what a test file that was killed leaves running is ended with the test run
  const note = underJest ? join(testEnvironment().dir, 'bus', `${server.identity.pid}.json`) : undefined;
  if (note) await writeFile(note, JSON.stringify(server.identity));

  const maildir = async (user: string, mailbox = 'INBOX') => {
    const home = join(dir, 'mail', user);
    const folder = mailbox === 'INBOX' ? home : join(home, `.${mailbox}`);
    for (const part of [home, folder, ...['new', 'cur', 'tmp'].map((p) => join(folder, p))]) await own(part);
    return folder;
  };
  return {
    port,
    tlsPort,
    password,
    ca: ca === undefined ? undefined : await readFile(ca, 'utf8'),
    url: (user) => `imap://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    maildir,
    deliver: async (user, mailbox, name, mail) => {
      const folder = await maildir(user, mailbox);
      await writeFile(join(folder, 'tmp', name), mail);
      await rename(join(folder, 'tmp', name), join(folder, 'new', name));
    },
    stop: async () => {
      await server.stop('SIGTERM', 5_000);
      await rm(dir, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}

function configuration(c: {
  dir: string;
  port: number;
  tlsPort: number;
  tls: boolean;
  password: string;
  uid: number;
  gid: number;
  asRoot: boolean;
}): string {
  const user = userInfo().username;
  return `
    base_dir = ${c.dir}/run
    log_path = /dev/stderr
    protocols = imap
    listen = 127.0.0.1
    ${c.tls ? `ssl = yes\nssl_cert = <${c.dir}/cert.pem\nssl_key = <${c.dir}/key.pem` : 'ssl = no'}
    ${c.asRoot ? '' : `default_internal_user = ${user}\ndefault_login_user = ${user}\ndefault_internal_group = ${c.gid}`}
    first_valid_uid = 1
    first_valid_gid = 1
    mail_location = maildir:${c.dir}/mail/%u
    mail_max_userip_connections = 1000
    auth_failure_delay = 0
    auth_cache_size = 0
    service anvil {
      chroot =
      unix_listener anvil-auth-penalty {
        mode = 0
      }
    }
    service imap-login {
      chroot =
      service_count = 0
      inet_listener imap {
        port = ${c.port}
      }
      inet_listener imaps {
        port = ${c.tls ? c.tlsPort : 0}
        ssl = yes
      }
    }
    passdb {
      driver = static
      args = password=${c.password}
    }
    userdb {
      driver = static
      args = uid=${c.uid} gid=${c.gid} home=${c.dir}/mail/%u
    }
  `;
}

/** Its own authority; for 0.0.0.0 too, which reaches this machine and does not look like a loopback. */
function certificate(dir: string): string {
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:0.0.0.0';
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  const how = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const what = ['-subj', '/CN=localhost', '-addext', names, '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', ...how, ...what], { stdio: 'pipe' });
  return cert;
}

const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (greeted: boolean) => {
      socket.destroy();
      resolve(greeted);
    };
    socket.once('data', (d) => end(d.toString().startsWith('* OK')));
    for (const event of ['error', 'close'] as const) socket.once(event, () => end(false));
  });
