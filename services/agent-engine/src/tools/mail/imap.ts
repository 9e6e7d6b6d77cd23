import { ImapFlow, type ImapFlowError, type MailboxObject } from 'imapflow';
import { MAX_MAIL_BYTES } from './inbox.js';
import { isLoopback, type MailServer } from './server.js';

/** A mailbox, opened to be read alone. */
export interface OpenMailbox {
  client: ImapFlow;
  mailbox: MailboxObject;
}

/**
 * Opens the mailbox by EXAMINE, so that nothing in it can change by our looking (RFC 9051, section 6.3.3), and closes the
 * connection whatever comes of `work`. A password is sent over TLS only, but on a loopback. What the server may make us
 * hold in memory is bounded, and its words are repeated nowhere: they are a stranger's.
 * @throws MailboxFault
 */
export async function lookInto<T>(
  server: MailServer,
  path: string,
  signal: AbortSignal,
  work: (open: OpenMailbox) => Promise<T>,
): Promise<T> {
  const { host, port, secure, auth } = server;
  const client = new ImapFlow({
    host,
    port,
    secure,
    ...(auth ? { auth } : {}),
    ...(secure ? {} : { doSTARTTLS: !isLoopback(host) }),
    logger: false,
    disableAutoIdle: true,
    disableCompression: true,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 15_000,
    maxLineLength: 256 * 1024,
    maxLiteralSize: MAX_MAIL_BYTES,
    maxResponseSize: MAX_MAIL_BYTES + 256 * 1024,
    maxResponseTokens: 50_000,
  });
  // what fails is also thrown by the command that it fails
  client.on('error', () => {});
  const given = Promise.withResolvers<never>();
  const giveUp = () => given.reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    signal.throwIfAborted();
    const whole = async () => {
      await client.connect();
      return work({ client, mailbox: await client.mailboxOpen(path, { readOnly: true }) });
    };
    return await Promise.race([whole(), given.promise]);
  } catch (error) {
    throw new MailboxFault(error as ImapFlowError);
  } finally {
    signal.removeEventListener('abort', giveUp);
    client.close();
  }
}

/** The mailbox could not be looked into. The message is our own and says what to do; the cause is for nobody else. */
export class MailboxFault extends Error {
  override readonly name = 'MailboxFault';
  /** Without what to do about it. */
  readonly reason: string;
  /** Trying again does not help: an operator has to mend the settings. */
  readonly settings: boolean;

  constructor(cause: ImapFlowError) {
    const wrong = wrongSetting(cause);
    const reason = wrong ?? 'The mail server could not be reached, took too long or broke off.';
    super(`${reason} ${wrong ? 'Tell the user: an operator has to check the settings.' : 'Try again later.'}`, {
      cause,
    });
    this.reason = reason;
    this.settings = wrong !== undefined;
  }
}

function wrongSetting(error: ImapFlowError): string | undefined {
  if (error.authenticationFailed) return 'The mail server refused the login.';
  if (error.mailboxMissing) return 'The mail server has no mailbox of the name that is set.';
  if (error.tlsFailed || /CERT|SELF_SIGNED|UNABLE_TO_|SSL|TLS/.test(error.code ?? ''))
    return 'The mail server offers no encryption that can be trusted, so no password was sent.';
  return undefined;
}
