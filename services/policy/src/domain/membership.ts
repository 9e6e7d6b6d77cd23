import type { Role } from '@holdpoint/contracts';

export interface MemberChange {
  /** Who changes, and as what. */
  by: { userId: string; role: Role };
  /** Whom, and what they are now; null: not a member. */
  member: { userId: string; role: Role | null };
  /** What they are to be; null: no longer a member. */
  to: Role | null;
  /** How many owners there are besides this member. */
  otherOwners: number;
}

export type Objection = 'role-missing' | 'owners-only' | 'last-owner';

/**
 * Owners and admins change members, only owners make and unmake owners, everybody may leave, and an owner always stays
 * (seed 001: a space's settings are for owner and admin). The row policies of the table say the same.
 */
export function objectionTo({ by, member, to, otherOwners }: MemberChange): Objection | null {
  const leaves = to === null && member.userId === by.userId;
  if (by.role === 'member' && !leaves) return 'role-missing';
  if (by.role !== 'owner' && (to === 'owner' || member.role === 'owner')) return 'owners-only';
  if (member.role === 'owner' && to !== 'owner' && otherOwners === 0) return 'last-owner';
  return null;
}
