import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

export default async function setUp() {
  const { setUpTestRun } = await import('../libs/testing/dist/src/index.js').catch((cause) => {
    throw new Error('the packages are not built: run `npm test`, or `pnpm exec tsc -b` first', { cause });
  });
  globalThis.tearDownTestRun = await setUpTestRun(dirname(dirname(fileURLToPath(import.meta.url))));
}
