import { existsSync } from 'node:fs';
import { installDebian, works } from './debian.mjs';

const SERVERS = [
  { path: '/usr/sbin/dovecot', packages: ['dovecot-imapd'] },
  { path: '/usr/sbin/proftpd', packages: ['proftpd-core', 'proftpd-mod-crypto'] },
  { path: '/usr/bin/kubectl', packages: ['kubernetes-client'] },
];
/** Runs the example of a verifier in Python. Debian's python3-minimal has no json. */
const PYTHON = { command: 'python3', packages: ['python3'] };

/** The servers that tests talk to, the program that renders the manifests, Python for an example: nothing else needs them. Where they cannot be installed, their tests say so. */
export function testServers({ env, say }) {
  const missing = SERVERS.filter((s) => !existsSync(s.path)).flatMap((s) => s.packages);
  if (!works(PYTHON.command)) missing.push(...PYTHON.packages);
  if (missing.length > 0 && !installDebian(missing, { env, say }))
    say(
      `tests of mail, FTP, the manifests and the example in Python need: sudo apt-get install --no-install-recommends ${missing.join(' ')}`,
    );
}
