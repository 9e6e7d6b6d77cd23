import type { Secrets } from '../secrets/secrets.js';
import type { Round } from './round.js';

/**
 * What a model wrote, before anything is done with it or kept of it. Calls say whose values stood in their arguments, which
 * is reason enough to refuse them; the values are gone.
 */
export const scrubbedRound = (round: Round, secrets: Secrets) => ({
  ...round,
  text: secrets.scrub(round.text),
  calls: round.calls.map((c) => ({
    ...c,
    providerCallId: secrets.scrub(c.providerCallId),
    tool: secrets.scrub(c.tool),
    input: secrets.scrub(c.input),
    literals: secrets.find(c.input),
  })),
});

export type ScrubbedRound = ReturnType<typeof scrubbedRound>;
