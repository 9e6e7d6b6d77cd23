import type { Identity, Role } from '@holdpoint/contracts';
import { requireRole } from '@holdpoint/runtime';
import { noSuchCall } from './refusals.js';
import type { FrozenCall } from './store/frozen-calls.js';

/** No space has this name. */
const NOWHERE = '';

/**
 * The call, for a member of its space who has one of the roles, if any are named. A call that is not there is answered
 * like one of a foreign space, so that nobody can find out which ids exist elsewhere.
 * @throws Refusal `not-found` or `forbidden`
 */
export function accessible<C extends FrozenCall>(who: Identity, call: C | undefined, ...roles: Role[]): C {
  requireRole(who, call?.space_id ?? NOWHERE, ...roles);
  if (call === undefined) throw noSuchCall();
  return call;
}
