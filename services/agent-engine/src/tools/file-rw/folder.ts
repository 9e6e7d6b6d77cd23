import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readlink, realpath, stat } from 'node:fs/promises';
import { Refused } from './refused.js';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** Where the kernel lets a name be looked up below an open folder, as openat(2) would. */
const descriptorPaths = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * An open folder inside the root. Each step down opens one name below the descriptor of its parent, and never through a
 * link; so whatever is renamed or exchanged meanwhile, what is reached is a real folder that was below the root.
 *
 * Elsewhere than on Linux there are no paths below a descriptor. There each step is looked up by path and `unmoved`
 * compares afterwards: someone who can rename inside the root within that moment can win. Run agents that share their
 * workspace with programs they do not trust on Linux only.
 */
export class Folder {
  private constructor(
    private readonly handle: FileHandle,
    private readonly path: string,
  ) {}

  /** @param root the operator's own path; a link in it is the operator's choice. */
  static async root(root: string): Promise<Folder> {
    try {
      const path = await realpath(root);
      return new Folder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
    } catch {
      throw new Refused('The workspace cannot be opened. Whoever runs this system has to see to it.');
    }
  }

  /** The folder `name` in this one. @throws when it is a link or no folder, or is not there and shall not be made. */
  async enter(name: string, options: { make: boolean }): Promise<Folder> {
    if (options.make) await this.make(name);
    const handle = await open(this.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    return new Folder(handle, `${this.path}/${name}`);
  }

  private async make(name: string): Promise<void> {
    try {
      await mkdir(this.at(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
      throw error;
    }
    await this.sync();
  }

  /** A path for one system call about the entry `name`, which must be a single name. */
  at(name: string): string {
    return `${descriptorPaths ? `/proc/self/fd/${this.handle.fd}` : this.path}/${name}`;
  }

  /** Asked right before an effect. @throws when the folder no longer stands where it was reached, below the root. */
  async unmoved(): Promise<void> {
    const stands = descriptorPaths
      ? (await readlink(`/proc/self/fd/${this.handle.fd}`)) === this.path
      : (await realpath(this.path)) === this.path && (await sameFile(this.path, this.handle));
    if (!stands) throw new Refused('The folder was moved meanwhile. List it and try again.');
  }

  /** Makes a changed entry durable. */
  sync(): Promise<void> {
    return this.handle.sync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

async function sameFile(path: string, handle: FileHandle): Promise<boolean> {
  const [a, b] = await Promise.all([stat(path, { bigint: true }), handle.stat({ bigint: true })]);
  return a.dev === b.dev && a.ino === b.ino;
}

/** Opens the folder that `names` lead to, step by step from the root, and closes all of it afterwards. */
export async function inFolder<T>(
  root: string,
  names: readonly string[],
  options: { make: boolean },
  use: (folder: Folder) => Promise<T>,
): Promise<T> {
  const open: Folder[] = [];
  try {
    let folder = await Folder.root(root);
    open.push(folder);
    for (const name of names) {
      folder = await folder.enter(name, options);
      open.push(folder);
    }
    return await use(folder);
  } finally {
    await Promise.all(open.map((f) => f.close()));
  }
}
