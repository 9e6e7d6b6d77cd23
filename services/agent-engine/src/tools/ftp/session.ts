import { Client, type FileInfo, FTPError } from 'basic-ftp';
import { Refused } from './refused.js';
import type { FtpServer } from './settings.js';

/** How long the server may say nothing while something is asked of it. */
const SILENCE_MS = 20_000;
/** A folder with more than this to tell is not listed. */
const MAX_LISTING_BYTES = 4 * 1024 * 1024;

/**
 * One connection for one call, closed afterwards. When `signal` aborts, the connection is cut and this rejects at once,
 * whatever the far end does. Data connections go to the host of the control connection alone, whatever it says.
 */
export async function withSession<T>(
  server: FtpServer,
  signal: AbortSignal,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw new Refused('Its time was up before it began, so nothing was done.');
  const client = new Client(Math.min(SILENCE_MS, server.timeoutMs), {
    allowSeparateTransferHost: false,
    maxListingBytes: MAX_LISTING_BYTES,
  });
  const lost = Promise.withResolvers<never>();
  // whatever the library's task makes of a connection that is closed, the call ends with it
  const close = client.ftp.closeWithError.bind(client.ftp);
  client.ftp.closeWithError = (error) => {
    close(error);
    lost.reject(error);
  };
  const abort = () => lost.reject(new Error('its time was up'));
  signal.addEventListener('abort', abort, { once: true });
  const session = async () => {
    await client.access({
      host: server.host,
      port: server.port,
      user: server.user,
      password: server.password,
      secure: server.tls === 'none' ? false : server.tls === 'implicit' ? 'implicit' : true,
      // the library notes the host in what it is given
      secureOptions: { ...server.tlsOptions },
    });
    return use(client);
  };
  try {
    return await Promise.race([session(), lost.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
    client.close();
  }
}

/** Entries of a folder. It is entered first: a path in the command itself could be taken for options or a pattern. */
export async function entriesOf(client: Client, folder: string): Promise<FileInfo[]> {
  await client.send(`CWD ${folder}`);
  const entries = await client.list();
  return entries.filter((e) => e.name !== '.' && e.name !== '..');
}

/** Null where the server tells no sizes. @throws when it says that there is no such file */
export async function sizeOf(client: Client, whole: string): Promise<number | null> {
  try {
    return await client.size(whole);
  } catch (error) {
    if (error instanceof FTPError && [500, 502, 504].includes(error.code)) return null;
    throw error;
  }
}
