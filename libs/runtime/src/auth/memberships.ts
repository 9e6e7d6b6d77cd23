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

const TIMEOUT_MS = 5_000;

/**
 * Asks policy anew for every request. Nothing is kept: with a cache in each instance a revoked person would be let in and
 * kept out in turn. Requests of one person that come while a question is under way share the next one, which begins after
 * they came and so is as fresh as one of their own. Without an answer nobody is let in.
 */
export function policyMemberships(baseUrl: string, token: string): Memberships {
  const policy = serviceClient({ baseUrl, token, timeoutMs: TIMEOUT_MS });
  const asking = new Map<string, Promise<Standing>>();
  const next = new Map<string, Promise<Standing>>();

  async function ask(userId: string): Promise<Standing> {
    try {
      const path = `/internal/members/${encodeURIComponent(userId)}/spaces`;
      const { userId: of, ...standing } = await policy.get(path, memberships);
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
  }

  function begin(userId: string): Promise<Standing> {
    next.delete(userId);
    const answer = ask(userId).finally(() => {
      if (asking.get(userId) === answer) asking.delete(userId);
    });
    asking.set(userId, answer);
    return answer;
  }

  return {
    standingOf(userId) {
      const earlier = asking.get(userId);
      if (earlier === undefined) return begin(userId);
      const shared =
        next.get(userId) ??
        earlier.then(
          () => begin(userId),
          () => begin(userId),
        );
      next.set(userId, shared);
      return shared;
    },
  };
}
