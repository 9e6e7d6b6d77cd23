import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout that this code runs from. */
export const REPOSITORY: string = (() => {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    if (existsSync(join(at, 'pnpm-workspace.yaml'))) return at;
    if (at === dirname(at)) throw new Error('not inside a checkout of the repository');
  }
})();

/** A program of this package, compiled. */
export const program = (name: string): string => join(REPOSITORY, 'deploy/local/dist/src', name);
