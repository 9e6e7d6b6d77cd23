import { spawnSync } from 'node:child_process';

export const works = (command, flag = '--version') => spawnSync(command, [flag], { stdio: 'ignore' }).status === 0;

/** Installs Debian packages where that takes no questions: as root, with apt-get. @returns whether they are installed. */
export function installDebian(packages, { env, say }) {
  if (process.getuid?.() !== 0 || !works('apt-get')) return false;
  // RUNLEVEL: a server that comes with its package is not started for that (invoke-rc.d)
  const aptEnv = { ...env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', '-o', 'Dpkg::Use-Pty=0', ...args], { stdio: ['ignore', 2, 2], env: aptEnv }).status ===
    0;
  say(`installing ${packages.join(', ')} with apt-get`);
  return apt('update') && apt('install', '-y', '--no-install-recommends', ...packages);
}
