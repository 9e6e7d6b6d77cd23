import type { CallPreview, ExecutionClass, Hint } from '@holdpoint/contracts';
import type { z } from 'zod';

/**
 * What a tool says of its attempt. `done` and `did-not-happen` are certain. Whatever ends after the point of no return
 * without an answer of the far end is `unknown`, also a time-out: only a person can settle it (charter, section 6).
 * The texts go to the model; they hold no path, address or credential of the machine.
 */
export type ToolOutcome =
  | { kind: 'done'; result: string }
  | { kind: 'did-not-happen'; error: string }
  | { kind: 'unknown'; detail: string };

export interface ToolContext {
  /** Stable over all attempts of one call: what a remote end can recognise a repetition by. */
  callId: string;
  spaceId: string;
  attempt: number;
  /** Aborted when the action's time is up or nobody waits any more. The tool then answers at once, and truthfully. */
  signal: AbortSignal;
  /** Asked right before the effect; on false the tool does nothing. Absent where nothing was claimed, as for a read. */
  stillLeased?: () => boolean | Promise<boolean>;
}

/** One thing that a tool can do. `A` is what the model writes, with `action` as the literal name. */
export interface ToolAction<A = unknown> {
  readonly name: string;
  /** One line for the model. */
  readonly description: string;
  readonly hint: Hint;
  /** `admin` actions are never invoked by an agent. */
  readonly scope: 'user' | 'admin';
  /** Of a destructive action: what it destroys, for the people who decide whether their space allows it. */
  readonly affectedData?: string;
  /** What another attempt may do when nobody knows how the last one ended. */
  readonly executionClass: ExecutionClass;
  /** A strict object that only checks: defaults, coercion, trimming and transforms are refused (charter, section 5). */
  readonly schema: z.ZodType<A, A>;
  readonly timeoutMs: number;
  /** Gets the frozen values themselves, checked and untouched. A throw of a write counts as `unknown`. */
  run(args: A, ctx: ToolContext): Promise<ToolOutcome>;
  /**
   * Of `reconcilable` actions: looks up by `ctx.callId` whether an earlier attempt took effect, and changes nothing. `done`:
   * it had, with the result as if run; `did-not-happen`: it had not, and `run` may be tried; `unknown`: nobody can tell.
   */
  readonly reconcile?: (args: A, ctx: ToolContext) => Promise<ToolOutcome>;
  /**
   * What the call would change, as things are now, for the person who decides. Reads only, within `timeoutMs`, from the
   * frozen values: references to secrets stand as they were written. What cannot be looked at is said in the preview's
   * note; a throw is shown as "no preview".
   */
  readonly preview?: (args: A, ctx: Pick<ToolContext, 'callId' | 'spaceId' | 'signal'>) => Promise<CallPreview>;
  /**
   * Top-level fields in which `{{secret:NAME}}` stands for a secret, where the operator allows (tool, field, secret). Never
   * a field that an agent can read back. In any other field such a text is text.
   */
  readonly secretFields?: readonly (keyof A & string)[];
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly actions: readonly ToolAction[];
}

/** Types `run` by the schema, then forgets the type: the registry hands over only what the schema has passed. */
export const defineAction = <A extends { action: string }>(action: ToolAction<A>): ToolAction =>
  action as unknown as ToolAction;

export const done = (result: string): ToolOutcome => ({ kind: 'done', result });
export const didNotHappen = (error: string): ToolOutcome => ({ kind: 'did-not-happen', error });
export const unknown = (detail: string): ToolOutcome => ({ kind: 'unknown', detail });

/** The last question before an effect: undefined to go on, or why nothing may be done any more. No answer means no. */
export async function mayNotBegin(ctx: ToolContext): Promise<string | undefined> {
  if (!(await leased(ctx)))
    return 'It was not begun in time, so nothing was done. Propose it anew if it is still needed.';
  if (ctx.signal.aborted) return 'It was cancelled before it began, so nothing was done.';
  return undefined;
}

async function leased(ctx: ToolContext): Promise<boolean> {
  try {
    return ctx.stillLeased === undefined || (await ctx.stillLeased());
  } catch {
    return false;
  }
}
