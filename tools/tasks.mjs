// The tasks behind the npm scripts. Started by tools/boot.mjs with the right Node; needs the dependencies, nothing else.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const here = process.cwd();
const [task, ...args] = process.argv.slice(2);
const bin = (name) => join(root, 'node_modules', '.bin', name);
const node = process.execPath;
const children = new Set();
for (const s of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(s, () => {
    for (const c of children) c.kill(s);
  });

function run(command, argv, { cwd = root, env = {}, quiet = false, allowFailure = false } = {}) {
  return new Promise((done) => {
    const child = spawn(command, argv, {
      cwd,
      stdio: quiet ? ['ignore', 2, 2] : 'inherit',
      env: { ...process.env, ...env },
    });
    children.add(child);
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      process.exit(1);
    });
    child.on('exit', (code, signal) => {
      children.delete(child);
      const status = code ?? (signal ? 1 : 0);
      if (status !== 0 && !allowFailure) process.exit(status);
      done(status);
    });
  });
}
async function step(name, work) {
  const from = Date.now();
  console.error(`\n— ${name}`);
  await work();
  console.error(`  ${name}: ${((Date.now() - from) / 1000).toFixed(1)} s`);
}

const build = () => run(bin('tsc'), ['-b', join(root, 'tsconfig.json')], { quiet: true });
const contracts = () => run(node, ['libs/contracts/dist/src/generate.js']);
async function generatedIsCommitted() {
  await contracts();
  const generated = ['libs/contracts/generated', 'docs/events.md'];
  const status = await run('git', ['diff', '--exit-code', '--stat', '--', ...generated], { allowFailure: true });
  if (status !== 0) {
    console.error(`${generated.join(' or ')} was not what the events' declarations say. Written anew: commit it.`);
    process.exit(1);
  }
}
const tests = async (argv) => {
  const results = join(root, 'node_modules/.cache/jest-results.json');
  rmSync(results, { force: true });
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const program = [...flags, join(root, 'node_modules/jest/bin/jest.js'), '--config', 'jest.config.mjs'];
  const status = await run(node, [...program, '--json', `--outputFile=${results}`, ...argv], { allowFailure: true });
  if (!existsSync(results)) process.exit(status || 1);
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(results, 'utf8'));
  const skipped = numPendingTests + numTodoTests;
  console.log(`${numPassedTests} passed, ${numFailedTests} failed, ${skipped} skipped`);
  if (status !== 0) process.exit(status);
  // what a person may leave out while at work must not stay out unseen
  if (process.env.CI && skipped > 0) process.exit(1);
};
const e2e = (file, argv) => run(node, [join(root, 'e2e/dist/src', file), ...argv], { cwd: here });

const tasks = {
  async start() {
    const built = existsSync(join(root, 'deploy/local/dist/src/main.js'));
    console.error(`[holdpoint] building${built ? '' : ' (the first time takes a few minutes)'}`);
    await build();
    await run(node, [join(root, 'deploy/local/dist/src/main.js'), ...args]);
  },
  async holdpoint() {
    if (!existsSync(join(root, 'cli/dist/src/main.js'))) await build();
    await run(node, [join(root, 'cli/dist/src/main.js'), ...args], { cwd: here });
  },
  async demo() {
    await build();
    await e2e('demo.js', args);
  },
  async crash() {
    await build();
    await e2e('crash.js', args);
  },
  async load() {
    await build();
    await e2e('load.js', args);
  },
  async replay() {
    await build();
    await e2e('replay.js', args);
  },
  // rebuild, refill, reconcile: see docs/recovery.md
  async recover() {
    await build();
    await run(node, [join(root, 'deploy/provision/dist/src/recovery.main.js'), ...args], { cwd: here });
  },
  async check() {
    await step('build', build);
    await step('types of the tests', () => run(bin('tsc'), ['-p', 'tsconfig.test.json']));
    await step('format and lint', () => run(bin('biome'), ['ci', '--error-on-warnings', '.']));
    await step('who may import whom', () =>
      run(bin('depcruise'), ['--config', '.dependency-cruiser.mjs', 'libs', 'services', 'deploy', 'cli', 'e2e']),
    );
    await step('unused files, exports, dependencies', () => run(bin('knip'), []));
    await step('generated schemas and pages', generatedIsCommitted);
  },
  async fix() {
    await build();
    await contracts();
    await run(bin('biome'), ['check', '--write', '.']);
  },
  async test() {
    if (args.length === 0) await tasks.check();
    else await step('build', build);
    await step('tests', () => tests([...(process.env.CI ? ['--ci'] : []), ...args]));
  },
  async 'test:deep'() {
    process.env.HOLDPOINT_DEEP = '1';
    await tasks.test();
  },
};

if (!Object.hasOwn(tasks, task)) {
  console.error(`unknown task ${task ?? ''}; there are: ${Object.keys(tasks).join(', ')}`);
  process.exit(2);
}
await tasks[task]();
