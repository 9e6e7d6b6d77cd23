import { existsSync } from 'node:fs';
import { installDebian } from './debian.mjs';

const SERVERS = [
  { path: '/usr/sbin/dovecot', packages: ['dovecot-imapd'] },
  { path: '/usr/sbin/proftpd', packages: ['proftpd-core', 'proftpd-mod-crypto'] },
  { path: '/usr/bin/kubectl', packages: ['kubernetes-client'] },
];

/** The servers that tests talk to, and the program that renders the manifests: nothing else needs them. Where they cannot be installed, their tests say so. */
export function testServers({ env, say }) {
  const missing = SERVERS.filter((s) => !existsSync(s.path)).flatMap((s) => s.packages);
  if (missing.length > 0 && !installDebian(missing, { env, say }))
    say(`tests of mail, FTP and the manifests need: sudo apt-get install --no-install-recommends ${missing.join(' ')}`);
}
