import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface ServerVersion {
  major: number;
  minor: number;
  text: string;
  /** From 2.10 on the server can sync each message before it acknowledges it. */
  canSyncAlways: boolean;
}

/** Asks `nats-server --version`. @throws with what to do when there is no such program. */
export async function serverVersion(binary: string): Promise<ServerVersion> {
  const { stdout } = await promisify(execFile)(binary, ['--version']).catch((cause) => {
    throw new Error(`cannot run ${binary}: install nats-server, or set NATS_SERVER to its path`, { cause });
  });
  const match = /v?(\d+)\.(\d+)\.\S+/.exec(stdout);
  if (!match) throw new Error(`${binary} --version printed no version: ${stdout.trim()}`);
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return {
    major,
    minor,
    text: match[0].replace(/^v/, ''),
    canSyncAlways: major > 2 || (major === 2 && minor >= 10),
  };
}
