import { printable } from '@holdpoint/contracts';
import { FTPError } from 'basic-ftp';

/** A refusal whose message is for the model. Thrown only while nothing has been done. */
export class Refused extends Error {}

/** A stranger's text, its beginning. */
const quote = (text: string): string => printable(text.slice(0, 200));

/** What the model is told of an error before the effect; of the server it repeats the answer alone, escaped and cut. */
export function refusal(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (!(error instanceof FTPError))
    return 'The FTP server could not be reached, or the connection broke off. Nothing was changed. Try again later.';
  // what is said about a login may repeat it
  if (error.code === 530) return 'The FTP server refused the login. Whoever runs this system has to see to it.';
  return `${sentence(error.code)} Nothing was changed. The server answered: ${quote(error.message)}`;
}

function sentence(code: number): string {
  if (code === 550) return 'There is no such file or folder, or it may not be used so. Use list to see what is there.';
  if (code === 552 || code === 452) return 'The FTP server has no room for it.';
  if (code === 553) return 'The FTP server does not take that name.';
  return 'The FTP server refused it.';
}

/** An answer of the server to the command itself; 421 speaks of the connection, not of the command. */
export const answered = (error: unknown): error is FTPError => error instanceof FTPError && error.code !== 421;
