import type { Earlier } from '../domain/conclude.js';
import { effectSpan } from '../spans.js';
import type { ToolAction, ToolContext, ToolOutcome } from '../tools/tool.js';

type Context = Omit<ToolContext, 'signal'>;

/** Also of an attempt whose lease had lapsed before the tool was asked for anything. */
export type AttemptOutcome = ToolOutcome | { kind: 'not-begun'; error: string };
export const notBegun: AttemptOutcome = {
  kind: 'not-begun',
  error: 'It was not started in time. Propose it anew if it is still needed.',
};
/** Of a claim that policy does not stand by when its effect is to begin. No further attempt follows: none of them asks. */
export const overtaken: AttemptOutcome = {
  kind: 'did-not-happen',
  error: 'It was not started: policy does not let it through any more. Propose it anew if it is still needed.',
};

/** A tool that throws after the point of no return has not said what happened; only a read may be called failed then. */
export const attempt = (action: ToolAction, args: unknown, context: Context): Promise<ToolOutcome> =>
  effectSpan(action, () => bounded(action, context, (ctx) => action.run(args, ctx)));

/**
 * A further attempt. What an idempotent or keyed action does is done once however often it is asked for; a reconcilable
 * one is asked first what became of the attempts before, unless none of them can have taken effect.
 */
export async function attemptAgain(
  action: ToolAction,
  args: unknown,
  context: Context & Required<Pick<ToolContext, 'stillLeased'>>,
  before: Exclude<Earlier, 'unknowable'>,
): Promise<{ outcome: AttemptOutcome; earlier: Earlier }> {
  let earlier: Earlier = before;
  if (action.executionClass === 'reconcilable' && before === 'open') {
    const { reconcile } = action;
    if (!reconcile)
      return {
        outcome: { kind: 'unknown', detail: 'The tool cannot look up what became of it.' },
        earlier: 'unknowable',
      };
    const found = await bounded(action, context, (ctx) => reconcile(args, ctx));
    if (found.kind === 'done') return { outcome: found, earlier };
    if (found.kind === 'unknown') return { outcome: found, earlier: 'unknowable' };
    earlier = 'ruled-out';
  }
  if (!(await context.stillLeased())) return { outcome: notBegun, earlier };
  return { outcome: await attempt(action, args, context), earlier };
}

async function bounded(
  action: ToolAction,
  context: Context,
  work: (ctx: ToolContext) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const late = Symbol('late');
  const signal = AbortSignal.timeout(action.timeoutMs);
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<typeof late>((resolve) => {
    timer = setTimeout(resolve, action.timeoutMs + 1_000, late);
  });
  try {
    const ran = await Promise.race([work({ ...context, signal }), bound]);
    if (ran !== late) return ran;
    return unanswered(action, `No answer within ${action.timeoutMs} ms.`);
  } catch (error) {
    return unanswered(action, error instanceof Error ? error.message : 'The tool failed without a reason.');
  } finally {
    clearTimeout(timer);
  }
}

const unanswered = (action: ToolAction, text: string): ToolOutcome =>
  action.hint === 'read' ? { kind: 'did-not-happen', error: text } : { kind: 'unknown', detail: text };
