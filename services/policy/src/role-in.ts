import type { Identity, Role } from '@holdpoint/contracts';
import { requirePerson, requireRole } from '@holdpoint/runtime';
import type { Transaction } from 'kysely';
import { members } from './store/members.js';
import type { PolicyDatabase } from './store/schema.js';

/**
 * The asker's role in the space as the rows of the transaction have it, whatever the identity of the request said.
 * @throws Refusal as `requireRole`
 */
export async function roleIn(
  tx: Transaction<PolicyDatabase>,
  who: Identity,
  spaceId: string,
  ...roles: Role[]
): Promise<Role> {
  requirePerson(who);
  const role = (await members.find(tx, spaceId, who.id))?.role;
  requireRole({ ...who, spaces: role === undefined ? {} : { [spaceId]: role } }, spaceId, ...roles);
  return role as Role;
}
