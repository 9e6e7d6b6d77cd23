import { describe, expect, it } from '@jest/globals';
import type { Principal } from './principal.js';
import {
  type ApprovalRequirement,
  approvalRequirement,
  type CastVote,
  mayVote,
  missingOf,
  released,
  USUAL_REQUIREMENT,
} from './requirement.js';

const mia: Principal = { kind: 'person', id: 'mia' };
const vote = (by: string, role: CastVote['role'] = 'member', ...groups: string[]): CastVote => ({ by, role, groups });
const needs = (more: Partial<ApprovalRequirement>): ApprovalRequirement => ({ ...USUAL_REQUIREMENT, ...more });

describe('who has to release a call', () => {
  it.each<[string, ApprovalRequirement, CastVote, boolean]>([
    ['an owner, as usual', needs({}), vote('ada', 'owner'), true],
    ['a member, as usual', needs({}), vote('max'), false],
    ['a named user', needs({ roles: [], users: ['max'] }), vote('max'), true],
    ['a member of a named group', needs({ roles: [], groups: ['risk'] }), vote('max', 'member', 'risk'), true],
    ['an owner where only a group may', needs({ roles: [], groups: ['risk'] }), vote('ada', 'owner'), false],
    ['the requester, as usual', needs({}), vote('mia', 'owner'), true],
    ['the requester where excluded', needs({ requesterExcluded: true }), vote('mia', 'owner'), false],
    ['a service of the same name', needs({ requesterExcluded: true }), vote('mia', 'owner'), false],
  ])('%s', (_name, requirement, voter, may) => {
    expect(mayVote(requirement, voter, mia)).toBe(may);
  });

  it('two votes of one person are one', () => {
    const two = needs({ votes: 2 });
    expect(missingOf(two, [vote('ada', 'owner'), vote('ada', 'owner')], mia)).toEqual({ votes: 1, groups: 0 });
    expect(released([two], [vote('ada', 'owner'), vote('ben', 'admin')], mia)).toBe(true);
  });

  it('a person of two groups stands for one of them', () => {
    const across = needs({ roles: ['member'], votes: 2, fromGroups: 2 });
    const [a, b] = [vote('a', 'member', 'risk', 'law'), vote('b', 'member', 'risk')];
    expect(missingOf(across, [a], mia)).toEqual({ votes: 1, groups: 1 });
    expect(released([across], [a, b], mia)).toBe(true);
    expect(released([across], [b, vote('c', 'member', 'risk')], mia)).toBe(false);
    // the first of them has to make room
    expect(released([across], [vote('a', 'member', 'risk', 'law'), vote('b', 'member', 'law')], mia)).toBe(true);
  });

  it('only named groups count where groups are named', () => {
    const across = needs({ roles: ['member'], groups: ['risk', 'law'], votes: 2, fromGroups: 2 });
    expect(released([across], [vote('a', 'member', 'risk'), vote('b', 'member', 'chess')], mia)).toBe(false);
    expect(released([across], [vote('a', 'member', 'risk'), vote('b', 'member', 'law')], mia)).toBe(true);
  });

  it('all requirements have to be met, and none is not enough', () => {
    const votes = [vote('ada', 'owner')];
    expect(released([USUAL_REQUIREMENT], votes, mia)).toBe(true);
    expect(released([USUAL_REQUIREMENT, needs({ votes: 2 })], votes, mia)).toBe(false);
    expect(released([], votes, mia)).toBe(false);
  });

  it.each([
    [{ roles: [] }, 'nobody may approve'],
    [{ fromGroups: 2 }, 'must not be more than votes'],
    [{ votes: 0 }, 'votes'],
  ])('refuses %j', (more, told) => {
    const parsed = approvalRequirement.safeParse(needs(more as Partial<ApprovalRequirement>));
    expect(parsed.success).toBe(false);
    expect(JSON.stringify(parsed.error?.issues)).toContain(told);
  });
});
