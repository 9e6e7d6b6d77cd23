import type { Role } from '@holdpoint/contracts';
import { expect, test } from '@jest/globals';
import { objectionTo } from './membership.js';

const roles: (Role | null)[] = ['owner', 'admin', 'member', null];
const change = (by: Role, from: Role | null, to: Role | null, otherOwners = 1) =>
  objectionTo({ by: { userId: 'me', role: by }, member: { userId: 'them', role: from }, to, otherOwners });
const myself = (role: Role, to: Role | null, otherOwners = 1) =>
  objectionTo({ by: { userId: 'me', role }, member: { userId: 'me', role }, to, otherOwners });

test('an owner may do everything but take the last owner away', () => {
  for (const from of roles) for (const to of roles) expect(change('owner', from, to)).toBeNull();
  for (const to of ['admin', 'member', null] as const) expect(myself('owner', to, 0)).toBe('last-owner');
  expect(myself('owner', null)).toBeNull();
});

test('an admin has no say about owners', () => {
  for (const from of roles)
    for (const to of roles)
      expect(change('admin', from, to)).toBe(from === 'owner' || to === 'owner' ? 'owners-only' : null);
  expect(myself('admin', 'owner')).toBe('owners-only');
});

test('a member may leave, and nothing else', () => {
  for (const from of roles) for (const to of roles) expect(change('member', from, to)).toBe('role-missing');
  for (const to of ['owner', 'admin', 'member'] as const) expect(myself('member', to)).toBe('role-missing');
  expect(myself('member', null)).toBeNull();
});
