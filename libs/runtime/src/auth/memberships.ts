import { type Identity, memberships } from '@holdpoint/contracts';
import { Refusal } from '../refusal.js';
import { serviceClient } from '../service-client.js';

/** The role of a person in each space that they are a member of, and their groups there. */
export type Standing = Pick<Identity, 'spaces' | 'groups'>;

/** Where it stands what a person may do. */
export interface Memberships {
  /** As it is at this moment. @throws when that cannot be known */
  standingOf(userId: string): Promise<Standing>;
}

const TIMEOUT_MS = 2_000;

/**
 * Asks policy anew for every request. Nothing is kept: with a cache in each instance a revoked person would be let in and
 * kept out in turn, and a lookup costs a millisecond. Without an answer nobody is let in.
 */
export function policyMemberships(baseUrl: string, token: string): Memberships {
  const policy = serviceClient({ baseUrl, token, timeoutMs: TIMEOUT_MS });
  return {
    async standingOf(userId) {
      try {
        const { userId: of, ...standing } = await policy.get(
          `/internal/members/${encodeURIComponent(userId)}/spaces`,
          memberships,
        );
        if (of !== userId) throw new Error('policy answered for somebody else');
        return standing;
      } catch (cause) {
        throw new Refusal(
          'unavailable',
          'auth.memberships-unavailable',
          'What you may do cannot be looked up at the moment, so nothing is let through. Nothing was done; try again shortly.',
          { cause },
        );
      }
    },
  };
}
