import { spawnSync } from 'node:child_process';

const works = (path) => spawnSync(path, ['--version'], { stdio: 'ignore' }).status === 0;

/** The nats-server to use: the one given, the one found, or one installed where that takes no questions. */
export function natsServer({ env, say, fail }) {
  if (env.NATS_SERVER) {
    if (works(env.NATS_SERVER)) return env.NATS_SERVER;
    fail(`NATS_SERVER=${env.NATS_SERVER} does not run. Give the path of a nats-server binary, or unset it.`);
  }
  const found = [
    'nats-server',
    '/usr/sbin/nats-server',
    '/opt/homebrew/bin/nats-server',
    '/usr/local/bin/nats-server',
  ].find(works);
  if (found) return found;

  const install = (command, args, extra = {}) => {
    say(`installing nats-server: ${command} ${args.join(' ')}`);
    return spawnSync(command, args, { stdio: ['ignore', 2, 2], env: { ...env, ...extra } }).status === 0;
  };
  const has = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
  if (process.getuid?.() === 0 && has('apt-get')) {
    const apt = (...args) => install('apt-get', ['-qq', ...args], { DEBIAN_FRONTEND: 'noninteractive' });
    if (apt('update') && apt('install', '-y', 'nats-server') && works('/usr/sbin/nats-server'))
      return '/usr/sbin/nats-server';
  } else if (has('brew') && install('brew', ['install', '--quiet', 'nats-server']) && works('nats-server'))
    return 'nats-server';

  const hint = process.platform === 'darwin' ? 'brew install nats-server' : 'sudo apt-get install nats-server';
  return fail(
    `nats-server is missing. Type: ${hint}   (or set NATS_SERVER to the path of its binary), then try again.`,
  );
}
