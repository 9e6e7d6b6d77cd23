import { spawnSync } from 'node:child_process';
import { installDebian, works } from './debian.mjs';

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
  ].find((command) => works(command));
  if (found) return found;

  if (installDebian(['nats-server'], { env, say }) && works('/usr/sbin/nats-server')) return '/usr/sbin/nats-server';
  if (process.getuid?.() !== 0 && works('brew')) {
    say('installing nats-server: brew install --quiet nats-server');
    const { status } = spawnSync('brew', ['install', '--quiet', 'nats-server'], { stdio: ['ignore', 2, 2], env });
    if (status === 0 && works('nats-server')) return 'nats-server';
  }

  const hint = process.platform === 'darwin' ? 'brew install nats-server' : 'sudo apt-get install nats-server';
  return fail(
    `nats-server is missing. Type: ${hint}   (or set NATS_SERVER to the path of its binary), then try again.`,
  );
}
