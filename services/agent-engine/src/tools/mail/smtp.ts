import { Readable } from 'node:stream';
import { printable } from '@holdpoint/contracts';
import SMTPConnection, { type SMTPConnectionEnvelope } from 'nodemailer/lib/smtp-connection';
import { didNotHappen, done, mayNotBegin, type ToolContext, type ToolOutcome, unknown } from '../tool.js';
import type { Message } from './message.js';
import { isLoopback, type MailServer } from './server.js';

export interface Envelope {
  from: string;
  to: readonly string[];
}

/**
 * Hands one message to the server, once, and says truthfully what is known. Before the first byte of the message the
 * server has nothing to deliver; from then on only its own refusal proves that it did not. All recipients or none: if one
 * is refused the message is not sent.
 */
export async function deliver(
  server: MailServer,
  envelope: Envelope,
  compose: (eightBit: boolean) => Message,
  ctx: ToolContext,
): Promise<ToolOutcome> {
  const { host, port, secure, auth } = server;
  const connection = new SMTPConnection({
    host,
    port,
    secure,
    // a password never crosses a network in the clear; a loopback has no network to protect
    ...(isLoopback(host) ? { ignoreTLS: true } : { requireTLS: auth !== null && !secure }),
    connectionTimeout: 15_000,
    greetingTimeout: 15_000,
    socketTimeout: 45_000,
  });
  let begun = false;
  try {
    return await new Promise<ToolOutcome>((resolve, reject) => {
      connection.on('error', reject);
      connection.once('end', () => reject(new Error('the connection ended')));
      ctx.signal.addEventListener(
        'abort',
        () => reject(new Withheld('Its time was up before anything was sent, so nothing was sent.')),
        { once: true },
      );
      if (ctx.signal.aborted) reject(new Withheld('It was cancelled before it began, so nothing was done.'));

      const send = (eightBit: boolean) => {
        const message = compose(eightBit);
        // the connection keeps its account of the recipients on this object
        const tracked: Partial<SMTPConnectionEnvelope> = {
          from: envelope.from,
          to: [...new Set(envelope.to)],
          size: message.bytes.length,
          use8BitMime: message.encoding === '8bit',
        };
        const content = Readable.from(
          (async function* () {
            // first read when the server has said 354: the last moment at which nothing has been handed over
            if (tracked.rejected?.length) throw new Withheld(refusedRecipients(tracked));
            const withheld = await mayNotBegin(ctx);
            if (withheld) throw new Withheld(withheld);
            begun = true;
            yield message.bytes;
          })(),
          { objectMode: false },
        );
        connection.send(tracked, content, (error, info) => {
          if (error) reject(error);
          else resolve(done(`Sent. The server answered: ${quote(info?.response ?? '')}`));
        });
      };
      connection.connect((failed) => {
        if (failed) return reject(failed);
        const eightBit = /^250[ -]8BITMIME\b/im.test(String(connection.lastServerResponse));
        if (!auth) return send(eightBit);
        connection.login(auth, (denied) => (denied ? reject(denied) : send(eightBit)));
      });
    });
  } catch (error) {
    return outcomeOf(error as SmtpError, begun);
  } finally {
    connection.close();
  }
}

/** Not handed over, and we know it. */
class Withheld extends Error {}

type SmtpError = Error & { code?: string; command?: string; response?: string; responseCode?: number };

function outcomeOf(error: SmtpError, begun: boolean): ToolOutcome {
  const answer = error.response === undefined ? '' : ` The server answered: ${quote(error.response)}`;
  if (!begun) {
    if (error instanceof Withheld) return didNotHappen(error.message);
    const why = error.responseCode ? 'The mail server refused it' : 'The mail server could not be reached';
    return didNotHappen(`${why}, so nothing was sent.${answer}`);
  }
  // the reply to the message itself, and a refusal of it; 421 speaks of the server, not of the message
  const refusal = error.code === 'EMESSAGE' && error.command === 'DATA' && (error.responseCode ?? 0) >= 400;
  if (refusal && error.responseCode !== 421)
    return didNotHappen(`The mail server refused the message, so nothing was sent.${answer}`);
  return unknown('The message was handed over, but the mail server did not say whether it took it.');
}

const refusedRecipients = (e: Partial<SMTPConnectionEnvelope>) =>
  `The mail server refused ${e.rejected?.map((r) => printable(r)).join(', ')}, so nothing was sent to anyone.`;

/** A stranger's text, its beginning. */
const quote = (text: string) => printable(text.slice(0, 200));
