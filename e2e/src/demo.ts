import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startStack } from '@holdpoint/local';
import { modelOf } from './served-model.js';
import { playStory } from './story.js';

// npm run demo [-- --yes]: the story on a system of its own. HOLDPOINT_HOME keeps it afterwards; otherwise it is removed.
const { values } = parseArgs({ options: { yes: { type: 'boolean', default: false } } });
if (!values.yes && !process.stdin.isTTY) {
  console.error('Nobody is at the terminal to decide. Type: npm run demo -- --yes');
  process.exit(2);
}
const kept = process.env['HOLDPOINT_HOME'];
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
    decide: values.yes ? 'alone' : 'person',
  });
  console.log(JSON.stringify(counts));
} catch (error) {
  console.error(`\nThe story went wrong: ${error instanceof Error ? error.message : String(error)}`);
  status = 1;
} finally {
  await stop();
}
process.exit(status);
