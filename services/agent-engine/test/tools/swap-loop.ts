import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';

// A process of its own that exchanges `path` for a link to `outside` and back, as fast as it can, until it is let go.
const [path = '', outside = ''] = process.argv.slice(2);
const aside = `${path}.aside`;
let stopping = false;

/** In a moment when nothing stands at `path`, a writer may make a folder there; it makes room. */
function place(put: () => void): void {
  for (;;)
    try {
      put();
      return;
    } catch {
      try {
        rmSync(path, { recursive: true, force: true });
      } catch {
        // the writer was still writing into it
      }
    }
}

function swap(): void {
  renameSync(path, aside);
  place(() => symlinkSync(outside, path));
  unlinkSync(path);
  place(() => renameSync(aside, path));
  if (stopping) process.exit();
  else setImmediate(swap);
}

for (const event of ['message', 'disconnect'])
  process.on(event, () => {
    stopping = true;
  });
process.send?.('swapping');
swap();
