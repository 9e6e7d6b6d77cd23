import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';

/**
 * The text of a file that nobody but its owner may touch, or that root holds for our group alone.
 * @param what names it in an error, such as `the master key file`
 * @throws Error that names the file
 */
export function readPrivateFile(path: string, what: string): string {
  const fd = openSync(path, 'r');
  try {
    // Judged on the open file, so that it cannot be swapped in between.
    if (!isPrivate(fstatSync(fd)))
      throw new Error(`${what} ${path} is open to others: chmod 600 it, and replace the key if they could read it`);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/**
 * Nobody but the owner may touch it. Or root holds it, and lets one group of ours read it: so Kubernetes hands a Secret to a
 * process that is not root and may own nothing.
 */
export function isPrivate(
  { mode, uid, gid }: { mode: number; uid: number; gid: number },
  us: { uid: number; groups: readonly number[] } = {
    uid: process.getuid?.() ?? 0,
    groups: process.getgroups?.() ?? [],
  },
): boolean {
  if ((mode & 0o077) === 0) return true;
  return (mode & 0o037) === 0 && uid === 0 && us.uid !== 0 && gid !== 0 && us.groups.includes(gid);
}
