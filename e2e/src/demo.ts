import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startStack } from '@holdpoint/local';
import { playOptIn } from './opt-in-story.js';
import { askAtTerminal } from './person.js';
import { modelOf } from './served-model.js';
import { playStory } from './story.js';

// npm run demo [-- --yes] [--story opt-in] [--home DIR]: a story on a system of its own, in a folder that is removed at the
// end unless DIR is given. HOLDPOINT_HOME plays no part: what a person keeps there is nothing to play in.
const { values } = parseArgs({
  options: {
    yes: { type: 'boolean', default: false },
    home: { type: 'string' },
    story: { type: 'string', default: 'mail' },
  },
});
if (!['mail', 'opt-in'].includes(values.story)) {
  console.error('There is no such story. Known: mail (the one that is played without --story) and opt-in.');
  process.exit(2);
}
const optIn = values.story === 'opt-in';
if (optIn && !values.yes) {
  console.error('Nobody is asked in this story. Type: npm run demo -- --yes --story opt-in');
  process.exit(2);
}
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

// a model that is not offered what it may not do would not propose it: this story is about what is proposed all the same
const model = optIn
  ? ''
  : await modelOf(process.env).catch((error: Error) => {
      console.error(error.message);
      process.exit(2);
    });
console.log(`Starting Holdpoint … (the assistant's model: ${model || 'as holdpoint.yaml declares it'})`);
const stack = await startStack({ home, ports: 'free', env: model === undefined ? {} : { HOLDPOINT_MODEL: model } });
let status = 0;
const stop = async () => {
  await stack.stop();
  if (kept === undefined) await rm(home, { recursive: true, force: true });
};
process.once('SIGINT', () => void stop().then(() => process.exit(130)));
try {
  const { urls, people } = stack;
  const counts = optIn
    ? await playOptIn({ home, urls, people, workspace: stack.paths.workspace })
    : await playStory({ home, urls, people, ...(values.yes ? {} : { ask: askAtTerminal }) });
  console.log(JSON.stringify(counts));
} catch (error) {
  console.error(`\nThe story went wrong: ${error instanceof Error ? error.message : String(error)}`);
  status = 1;
} finally {
  await stop();
}
process.exit(status);
