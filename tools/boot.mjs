// Runs on any Node >= 20 with nothing installed: node tools/boot.mjs <task> [args]
// Fetches the Node, pnpm and dependencies that the project is built with, makes sure of a nats-server, then runs the task.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { natsServer } from './nats-server.mjs';
import { testServers } from './test-servers.mjs';

const NODE = '24.21.0';
const PNPM = '12.4.2';
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const home = join(root, '.toolchain', `node-${NODE}-pnpm-${PNPM}`);
const started = Date.now();
const say = (text) => process.stderr.write(`[holdpoint] ${text}\n`);
const fail = (text) => {
  say(text);
  process.exit(1);
};

if (Number(process.versions.node.split('.')[0]) < 20)
  fail(`Node ${process.versions.node} is too old to start from. Install any Node from 20 on, then try again.`);
if (process.platform === 'win32') fail('Windows is not supported. Use WSL, Linux or macOS.');

// npm's packages behind `node`: the binary is inside, there is no install script
const family = process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
const nodePackage = `${family}-${process.platform}-${process.arch}`;
// settings of the outer `npm start` must not steer the inner npm and pnpm
const env = Object.fromEntries(
  Object.entries(process.env).filter(([k]) => !/^npm_(config_local_prefix|config_prefix|package_|lifecycle_)/i.test(k)),
);
const run = (command, args, cwd = root) => {
  // all of it goes to stderr: stdout belongs to the task, whose output may be read by a program
  const done = spawnSync(command, args, { stdio: ['ignore', 2, 2], cwd, env });
  if (done.error) fail(`${command} could not be started: ${done.error.message}`);
  if (done.status !== 0)
    fail(`${command} ${args[0]} failed (see above). Nothing was changed that a second try would trip over.`);
};

if (!existsSync(home)) {
  say(`fetching Node ${NODE} and pnpm ${PNPM} (once)`);
  const parts = `${home}.${process.pid}`; // renamed when whole: a broken or parallel first run leaves nothing half done
  mkdirSync(parts, { recursive: true });
  writeFileSync(join(parts, 'package.json'), '{"private":true}');
  const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  run('npm', ['install', ...flags, `${nodePackage}@${NODE}`, `pnpm@${PNPM}`], parts);
  try {
    renameSync(parts, home);
  } catch (error) {
    if (!existsSync(home)) throw error;
    rmSync(parts, { recursive: true });
  }
}
const node = join(home, 'node_modules', nodePackage, 'bin', 'node');
env.PATH = [dirname(node), join(home, 'node_modules', '.bin'), env.PATH].join(delimiter);

const stampFile = join(root, 'node_modules', '.boot-stamp');
const stamp = createHash('sha256')
  .update(['pnpm-lock.yaml', 'pnpm-workspace.yaml'].map((f) => readFileSync(join(root, f))).join('\0'))
  .digest('hex');
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  say('installing dependencies');
  run('pnpm', ['install', '--frozen-lockfile', '--reporter=append-only']);
  writeFileSync(stampFile, stamp);
}

const [task] = process.argv.slice(2);
const ownBus = task === 'start' && env.NATS_URL;
if (!ownBus && !['holdpoint', 'check', 'fix'].includes(task)) env.NATS_SERVER = natsServer({ env, say, fail });
if (['test', 'test:deep', 'crash'].includes(task)) testServers({ env, say });
env.HOLDPOINT_BOOT_SECONDS = ((Date.now() - started) / 1000).toFixed(1);

const child = spawn(node, [join(root, 'tools', 'tasks.mjs'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  // the person's own folder, so that a path given on the command line means what it says
  cwd: process.env.INIT_CWD ?? process.cwd(),
  env,
});
for (const s of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(s, () => child.kill(s));
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal ? 1 : 0);
});
