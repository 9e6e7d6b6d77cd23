import { Writable } from 'node:stream';
import { type Client, type FileInfo, FileType } from 'basic-ftp';
import { below } from './path.js';
import { Refused } from './refused.js';
import { entriesOf, sizeOf, withSession } from './session.js';
import type { FtpServer } from './settings.js';

export const MAX_LISTED = 1_000;
/** Bytes of one answer: of text as it is, of anything else as base64. */
export const MAX_DOWNLOAD = 128 * 1024;
const MAX_BINARY = (MAX_DOWNLOAD / 4) * 3;

export interface Entry {
  name: string;
  type: 'file' | 'folder' | 'link' | 'other';
  bytes: number | null;
  /** As the server spells it, where it says so. */
  modified: string | null;
}

/** Entries of a folder by name, at most `MAX_LISTED`; `more` when there are others. */
export async function listFolder(
  server: FtpServer,
  path: string | undefined,
  signal: AbortSignal,
): Promise<{ entries: Entry[]; more: boolean }> {
  const folder = path === undefined ? `/${server.base.join('/')}` : below(server.base, path).whole;
  const entries = await withSession(server, signal, (client) => entriesOf(client, folder));
  const sorted = entries.map(entryOf).sort((a, b) => (a.name < b.name ? -1 : 1));
  return { entries: sorted.slice(0, MAX_LISTED), more: sorted.length > MAX_LISTED };
}

function entryOf(info: FileInfo): Entry {
  const type = ({ [FileType.File]: 'file', [FileType.Directory]: 'folder', [FileType.SymbolicLink]: 'link' } as const)[
    info.type as 1 | 2 | 3
  ];
  return {
    name: info.name.toWellFormed(),
    type: type ?? 'other',
    bytes: type === 'file' ? info.size : null,
    modified: info.modifiedAt?.toISOString() ?? (info.rawModifiedAt.slice(0, 40).toWellFormed() || null),
  };
}

export interface Download {
  /** Of the whole file; null where the server does not tell. */
  size: number | null;
  encoding: 'text' | 'base64';
  content: string;
  /** True when there is more of the file behind `content`. */
  cut: boolean;
  /** The offset to go on from; null at the end. */
  next: number | null;
}

/** A file from byte `offset` on, at most `MAX_DOWNLOAD` bytes of answer. Text only if all of that is; no character is cut. */
export async function downloadFile(
  server: FtpServer,
  path: string,
  offset: number,
  signal: AbortSignal,
): Promise<Download> {
  const { whole } = below(server.base, path);
  const { size, bytes, more } = await withSession(server, signal, async (client) => {
    // asked first: that there is no such file is heard on the control connection, whatever becomes of data connections
    const size = await sizeOf(client, whole);
    if (size !== null && offset > size) throw new Refused(`The file ends at byte ${size}, before offset ${offset}.`);
    return { size, ...(await beginning(client, whole, MAX_DOWNLOAD, offset)) };
  });
  const text = asText(bytes, more);
  if (text !== null) {
    const next = more ? offset + Buffer.byteLength(text) : null;
    return { size, encoding: 'text', content: text, cut: more, next };
  }
  const cut = more || bytes.length > MAX_BINARY;
  const part = bytes.subarray(0, MAX_BINARY);
  const next = cut ? offset + part.length : null;
  return { size, encoding: 'base64', content: part.toString('base64'), cut, next };
}

function asText(bytes: Buffer, more: boolean): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: more });
    return /[^\P{Cc}\t\n\r]/u.test(text) ? null : text;
  } catch {
    return null;
  }
}

/** The first `limit` bytes of a file; `more` when there are others, and then the connection is of no further use. */
export async function beginning(
  client: Client,
  whole: string,
  limit: number,
  offset = 0,
): Promise<{ bytes: Buffer; more: boolean }> {
  const taken = new Taken(limit);
  await Promise.race([client.downloadTo(taken, whole, offset), taken.full]);
  return { bytes: Buffer.concat(taken.chunks).subarray(0, limit), more: taken.bytes > limit };
}

/** Takes no more once it is full, so that the far end has to wait. */
class Taken extends Writable {
  readonly chunks: Buffer[] = [];
  bytes = 0;
  readonly #full = Promise.withResolvers<void>();

  constructor(private readonly limit: number) {
    super();
  }

  /** Resolves when more has come than was asked for. */
  get full(): Promise<void> {
    return this.#full.promise;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes > this.limit) this.#full.resolve();
    else callback();
  }
}
