import type { Client } from 'basic-ftp';
import { didNotHappen, done, mayNotBegin, type ToolContext, type ToolOutcome, unknown } from '../tool.js';
import { answered, Refused, refusal } from './refused.js';
import { withSession } from './session.js';
import type { FtpServer } from './settings.js';

/** Sends the one command that takes effect, once nothing forbids it any more. */
export type Effect = (command: string) => Promise<void>;

/**
 * Lets `act` do one thing that cannot be undone. Until its command is sent nothing has happened; from then on only the
 * server's own answer to it is certain, and what ends without one is `unknown`.
 */
export async function change(
  server: FtpServer,
  ctx: ToolContext,
  act: (client: Client, effect: Effect) => Promise<string>,
): Promise<ToolOutcome> {
  let begun = false;
  const withheld = await mayNotBegin(ctx);
  if (withheld) return didNotHappen(withheld);
  try {
    const told = await withSession(server, ctx.signal, (client) =>
      act(client, async (command) => {
        const late = await mayNotBegin(ctx);
        if (late) throw new Refused(late);
        if (client.closed) throw new Refused('The connection was lost before it was begun, so nothing was done.');
        begun = true;
        const { code } = await client.send(command).catch((error: unknown) => {
          begun = !answered(error);
          throw error;
        });
        if (code < 200 || code > 299) throw new Error('an answer that says neither yes nor no');
      }),
    );
    return done(told);
  } catch (error) {
    return begun
      ? unknown('The FTP server did not say whether it did it. Look there to see which state the file is in.')
      : didNotHappen(refusal(error));
  }
}
