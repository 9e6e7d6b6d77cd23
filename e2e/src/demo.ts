import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startStack } from '@holdpoint/local';
import { askAtTerminal } from './person.js';
import { modelOf } from './served-model.js';
import { playStory } from './story.js';

// npm run demo [-- --yes] [--home DIR]: the story on a system of its own, in a folder that is removed at the end unless DIR
// is given. HOLDPOINT_HOME plays no part: what a person keeps there is nothing to play in.
const { values } = parseArgs({ options: { yes: { type: 'boolean', default: false }, home: { type: 'string' } } });
if (!values.yes && !process.stdin.isTTY) {
  console.error('Nobody is at the terminal to decide. Type: npm run demo -- --yes');
  process.exit(2);
}
const kept = values.home === undefined ? undefined : resolve(values.home);
if (kept !== undefined && (await readdir(kept).catch(() => [])).length > 0) {
  console.error(`${kept} is not empty. Give --home a new folder: the story counts everything that happens in it.`);
  process.exit(2);
}
const home = kept ?? (await mkdtemp(join(tmpdir(), 'holdpoint-demo-')));

const model = await modelOf(process.env).catch((error: Error) => {
  console.error(error.message);
  process.exit(2);
});
console.log(`Starting Holdpoint … (the assistant's model: ${model ?? 'as holdpoint.yaml declares it'})`);
const stack = await startStack({ home, ports: 'free', env: model === undefined ? {} : { HOLDPOINT_MODEL: model } });
let status = 0;
const stop = async () => {
  await stack.stop();
  if (kept === undefined) await rm(home, { recursive: true, force: true });
};
process.once('SIGINT', () => void stop().then(() => process.exit(130)));
try {
  const counts = await playStory({
    home,
    urls: stack.urls,
    people: stack.people,
    ...(values.yes ? {} : { ask: askAtTerminal }),
  });
  console.log(JSON.stringify(counts));
} catch (error) {
  console.error(`\nThe story went wrong: ${error instanceof Error ? error.message : String(error)}`);
  status = 1;
} finally {
  await stop();
}
process.exit(status);
