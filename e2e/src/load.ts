import { parseArgs } from 'node:util';
import { loadRun } from './load-run.js';

// npm run load [-- --conversations N]: N conversations at once, each with a held call, a decision and a wake-up.
const { values } = parseArgs({ options: { conversations: { type: 'string', default: '200' } } });
const conversations = Number(values.conversations);
if (!Number.isInteger(conversations) || conversations < 1) {
  console.error('Type: npm run load -- --conversations N, with a whole number from 1 on.');
  process.exit(2);
}
const result = await loadRun(conversations, console.error);
console.log(JSON.stringify(result));
process.exitCode = result.lost === 0 && result.violations === 0 ? 0 : 1;
