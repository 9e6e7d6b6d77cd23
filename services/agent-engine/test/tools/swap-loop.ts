import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';

// A process of its own that exchanges `path` for a link to `outside` and back, as fast as it can, until it is let go.
const [path = '', outside = ''] = process.argv.slice(2);
const aside = `${path}.aside`;
let stopping = false;

/** In a moment when nothing stands at `path`, another may make a folder there, or remove the one around it; room is made. */
function place(put: () => void): void {
  for (;;)
    try {
      put();
      return;
    } catch {
      try {
        rmSync(path, { recursive: true, force: true });
        mkdirSync(dirname(path), { recursive: true });
      } catch {
        // the other was still at it
      }
    }
}

function swap(): void {
  try {
    renameSync(path, aside);
  } catch {
    // purged meanwhile
  }
  place(() => symlinkSync(outside, path));
  rmSync(path, { recursive: true, force: true });
  place(() => (existsSync(aside) ? renameSync(aside, path) : mkdirSync(path)));
  if (stopping) process.exit();
  else setImmediate(swap);
}

for (const event of ['message', 'disconnect'])
  process.on(event, () => {
    stopping = true;
  });
process.send?.('swapping');
swap();
