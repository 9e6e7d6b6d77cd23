import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const here = import.meta.dirname;
const page = readFileSync(join(here, '../../../../docs/add-a-tool.md'), 'utf8');

// they run here as they are printed, but for the folder that they stand in
it.each([
  ['index.ts', '../../../src/tools/tool.js', '../tool.js'],
  ['tickets.spec.ts', './index.js', '../../src/tools/tickets/index.js'],
])('docs/add-a-tool.md prints the %s that is tested', (file, from, to) => {
  const source = readFileSync(join(here, 'tickets', file), 'utf8').replace(`'${from}'`, `'${to}'`);
  expect(page).toContain(`\`\`\`ts\n${source}\`\`\`\n`);
});
