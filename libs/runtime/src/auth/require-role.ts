import type { Identity, Role } from '@holdpoint/contracts';
import { Refusal } from '../refusal.js';

/**
 * A person who is a member of the space and, when roles are named, has one of them. A space that you are not a member
 * of does not exist for you: pass `undefined` for what is not there, and both get one answer, so that nobody finds out
 * what exists elsewhere. A service is nobody's member and never passes: a route that also serves services asks for
 * `who.kind` first.
 * @throws Refusal `not-found` or `forbidden`
 */
export function requireRole(who: Identity, spaceId: string | undefined, ...roles: Role[]): asserts spaceId is string {
  requirePerson(who);
  const role = spaceId !== undefined && Object.hasOwn(who.spaces, spaceId) ? who.spaces[spaceId] : undefined;
  if (role === undefined)
    throw new Refusal('not-found', 'auth.not-found', 'There is no such thing, or you are not a member of its space.');
  if (roles.length > 0 && !roles.includes(role))
    throw new Refusal(
      'forbidden',
      'auth.role-missing',
      `You are ${role} of this space; this needs ${roles.join(' or ')}.`,
    );
}

/** Somebody who can be answerable. @throws Refusal `forbidden` */
export function requirePerson(who: Identity): void {
  if (who.kind !== 'person')
    throw new Refusal('forbidden', 'auth.people-only', 'Only a person can do this; use the token of a person.');
}
