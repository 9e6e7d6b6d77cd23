import { channel } from 'node:diagnostics_channel';

/**
 * The points of no return, as they are passed: `claim` committed, `effect` done and not yet recorded, `result` committed,
 * `publish` acknowledged and not yet marked, `ack` of a handled message still to be sent.
 */
export interface Step {
  step: 'claim' | 'effect' | 'result' | 'publish' | 'ack';
  /** The call, or the subject of the message. */
  what: string;
}

const steps = channel('holdpoint.step');

/** Tells whoever listens in this process (`node:diagnostics_channel`, `holdpoint.step`); costs nothing when nobody does. */
export function passed(step: Step['step'], what: string): void {
  if (steps.hasSubscribers) steps.publish({ step, what } satisfies Step);
}
