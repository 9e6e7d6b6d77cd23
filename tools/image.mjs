// node tools/image.mjs TARGET: what the image holds, in a folder. The Dockerfile and its test run this same program.
// Takes the built checkout that it stands in: package by package what runs, with its production dependencies.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [target] = process.argv.slice(2);
if (!target) {
  console.error('give the folder to fill: node tools/image.mjs TARGET');
  process.exit(2);
}
const to = resolve(target);

const packages = ['libs', 'services', 'deploy', 'cli', 'e2e']
  .flatMap((at) =>
    existsSync(join(root, at, 'package.json')) ? [at] : readdirSync(join(root, at)).map((d) => join(at, d)),
  )
  .filter((at) => existsSync(join(root, at, 'package.json')));
const manifestOf = (at) => JSON.parse(readFileSync(join(root, at, 'package.json'), 'utf8'));
const byName = new Map(packages.map((at) => [manifestOf(at).name, at]));

/** The services and the provisioner, and whatever of this repository they need. */
const runs = new Set();
const take = (at) => {
  if (runs.has(at)) return;
  runs.add(at);
  for (const name of Object.keys(manifestOf(at).dependencies ?? {})) if (byName.has(name)) take(byName.get(name));
};
for (const at of packages) if (at.startsWith('services/') || at === 'deploy/provision') take(at);

const TESTS = /\.(spec|map)\.|\.d\.ts|\.tsbuildinfo$|\/dist\/test(\/|$)/;
for (const at of runs) {
  if (!existsSync(join(root, at, 'dist'))) {
    console.error(`${at} is not built: run pnpm exec tsc -b first`);
    process.exit(1);
  }
  for (const part of manifestOf(at).files ?? ['dist'])
    cpSync(join(root, at, part), join(to, at, part), { recursive: true, filter: (from) => !TESTS.test(from) });
}
// all of them: the lockfile is taken as it is, and it knows them all
for (const at of ['.', ...packages]) {
  mkdirSync(join(to, at), { recursive: true });
  cpSync(join(root, at, 'package.json'), join(to, at, 'package.json'));
}
for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) cpSync(join(root, file), join(to, file));

// --no-optional: the only ones are PostgreSQL's own programs
const filters = [...runs].map((at) => `--filter=./${at}`);
const flags = [
  '--prod',
  '--no-optional',
  '--frozen-lockfile',
  '--prefer-offline',
  '--ignore-scripts',
  '--reporter=append-only',
];
const done = spawnSync('pnpm', ['install', ...flags, ...filters], { cwd: to, stdio: ['ignore', 2, 2] });
if (done.status !== 0) {
  console.error(`pnpm install failed${done.error ? `: ${done.error.message}` : ''}`);
  process.exit(1);
}
