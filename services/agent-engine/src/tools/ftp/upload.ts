import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import type { Client } from 'basic-ftp';
import { didNotHappen, done, type ToolContext, type ToolOutcome, unknown } from '../tool.js';
import { change } from './change.js';
import { below } from './path.js';
import { beginning } from './read.js';
import { answered, Refused } from './refused.js';
import { entriesOf, sizeOf, withSession } from './session.js';
import type { FtpServer } from './settings.js';

const TIDY_MS = 5_000;
const TICKETS_MS = 500;

/**
 * Puts `bytes` in the place of the whole file: they are stored beside it under a name of this attempt's own, then renamed
 * over it. Before the rename is sent nothing has happened. A server that does not rename over a file refuses: to remove
 * first would leave, for a moment or after a crash, no file at all, so that is not done. A crash can leave
 * `.holdpoint-<call id>.<attempt>.tmp` behind, which is how `reconcileUpload` knows.
 */
export async function uploadFile(
  server: FtpServer,
  path: string,
  bytes: Buffer,
  ctx: ToolContext,
): Promise<ToolOutcome> {
  const { folder, whole } = below(server.base, path);
  const temporary = temporaryPath(folder, ctx.callId, ctx.attempt);
  let stored = false;
  const outcome = await change(server, ctx, async (client, effect) => {
    // asked on the control connection, where an answer is heard whatever becomes of data connections
    await client.send(`CWD ${folder}`);
    stored = true;
    await client.uploadFrom(Readable.from(contentOf(client, bytes), { objectMode: false }), temporary);
    const size = await sizeOf(client, temporary);
    if (size !== null && size !== bytes.length)
      throw new Refused('The FTP server did not keep all bytes, so the file was left as it was. Try again later.');
    const { code } = await client.send(`RNFR ${temporary}`);
    if (code !== 350) throw new Refused('The FTP server does not rename, so the file was left as it was.');
    await effect(`RNTO ${whole}`);
    stored = false;
    return `Uploaded ${bytes.length} bytes.`;
  });
  if (outcome.kind === 'did-not-happen' && stored) await tidy(server, temporary, ctx.signal);
  return outcome;
}

/** Under TLS 1.3 a server still sends its tickets when the client may begin; a connection that ends then looks broken to it. */
async function* contentOf({ ftp }: Client, bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
  else if (ftp.dataSocket instanceof TLSSocket) await pause(TICKETS_MS);
}

/** One for each attempt: an attempt that was frozen must not rename the file of the one after it. */
const temporaryPath = (folder: string, callId: string, attempt: number) =>
  `${folder === '/' ? '' : folder}/.holdpoint-${callId}.${attempt}.tmp`;

/**
 * On a connection of its own, as the last one may be lost. What cannot be removed now stays; it does no harm. Once the
 * attempt's time is up nobody waits for it: the answer, which is certain, would come too late to count.
 */
async function tidy(server: FtpServer, temporary: string, signal: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(TIDY_MS);
  const until = signal.aborted ? late : AbortSignal.any([late, signal]);
  const removed = withSession(server, until, (client) => client.send(`DELE ${temporary}`)).catch(() => {});
  if (!signal.aborted) await removed;
}

/**
 * Whether an earlier attempt at the upload took effect. Its temporary file is gone once it is renamed: found, it has not
 * been, and removed here, it never will be. Not found, the upload is done if the file holds exactly `bytes`; otherwise it
 * was not begun, or somebody has written since, and nobody can tell which.
 */
export async function reconcileUpload(
  server: FtpServer,
  path: string,
  bytes: Buffer,
  ctx: ToolContext,
): Promise<ToolOutcome> {
  const { folder, whole } = below(server.base, path);
  const temporaries = Array.from({ length: ctx.attempt }, (_, i) => temporaryPath(folder, ctx.callId, i + 1));
  try {
    return await withSession(server, ctx.signal, async (client) => {
      const cleared = [];
      for (const temporary of temporaries) if (await remove(client, temporary)) cleared.push(temporary);
      // the answer "no" to a removal does not tell a file that is not there from one that may not be removed
      const left = new Set((await entriesOf(client, folder)).map((e) => `${folder === '/' ? '' : folder}/${e.name}`));
      if (temporaries.some((t) => left.has(t)))
        return unknown('What an earlier attempt stored cannot be removed, so it may still take the place of the file.');
      if (cleared.length > 0)
        return didNotHappen('The file was not uploaded: an attempt ended before it was put in its place.');
      const there = await beginning(client, whole, bytes.length);
      return !there.more && there.bytes.equals(bytes)
        ? done(`Uploaded ${bytes.length} bytes; the file holds exactly what was to be uploaded.`)
        : unknown('The file does not hold what was to be uploaded: it was not uploaded, or has been changed since.');
    });
  } catch {
    return unknown('The file could not be looked at, so it is not known whether it was uploaded.');
  }
}

async function remove(client: Client, temporary: string): Promise<boolean> {
  try {
    await client.send(`DELE ${temporary}`);
    return true;
  } catch (error) {
    if (answered(error)) return false;
    throw error;
  }
}

/** Removes one file, for good. What the server answers to the removal is certain; no answer is `unknown`. */
export function deleteFile(server: FtpServer, path: string, ctx: ToolContext): Promise<ToolOutcome> {
  const { whole } = below(server.base, path);
  return change(server, ctx, async (_client, effect) => {
    await effect(`DELE ${whole}`);
    return 'Deleted the file.';
  });
}
