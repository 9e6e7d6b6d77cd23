import type { HoldpointEvent } from '../events/catalogue.js';
import type { Ledger } from './ledger.js';

/**
 * Takes one more event of a space into the ledger: members change only in a space that was created, by whoever may, and an
 * owner is always left. A space that no event speaks of is none of the grammar's business: people of an identity file have
 * their roles from there.
 */
export function acceptSpaceEvent(
  ledger: Ledger,
  e: HoldpointEvent<'policy.space-created' | 'policy.member-changed'>,
  seq: number,
): void {
  const entity = `space/${e.subject}`;
  const found = (code: string, message: string) => ledger.found(code, seq, entity, message);
  const members = ledger.spaces.get(e.subject);
  if (e.type === 'policy.space-created') {
    if (members === undefined || members === 'cut') ledger.spaces.set(e.subject, new Map());
    else found('space.order', 'created again');
    return;
  }
  if (members === 'cut') return;
  if (members === undefined) {
    if (!ledger.beheaded) found('space.order', 'a member of a space never created');
    ledger.spaces.set(e.subject, 'cut');
    return;
  }
  const { userId, role, changedBy } = e.data;
  const by = changedBy.kind === 'person' ? members.get(changedBy.id) : undefined;
  const touchesOwner = role === 'owner' || members.get(userId) === 'owner';
  const founds = members.size === 0 && role === 'owner' && userId === changedBy.id;
  const leaves = by !== undefined && role === null && userId === changedBy.id;
  if (!founds && !leaves && by !== 'owner' && (by !== 'admin' || touchesOwner))
    found('space.entitlement', `changed by someone who is ${by ?? 'not a member'}`);
  if (role === null) members.delete(userId);
  else members.set(userId, role);
  if (![...members.values()].includes('owner')) found('space.no-owner', 'the last owner is gone');
}
