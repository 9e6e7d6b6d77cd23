import { describe, expect, it } from '@jest/globals';
import { type ApprovalRequirement, USUAL_REQUIREMENT } from './requirement.js';
import { missingInWords, requirementInWords } from './requirement-words.js';

const needs = (more: Partial<ApprovalRequirement>): ApprovalRequirement => ({ ...USUAL_REQUIREMENT, ...more });

describe('a requirement in words', () => {
  it.each<[Partial<ApprovalRequirement>, string]>([
    [{}, '1 vote from an owner or an admin'],
    [
      { roles: [], groups: ['risk'], requesterExcluded: true },
      '1 vote from group risk, and not from whoever it acts for',
    ],
    [
      { roles: ['member'], users: ['ada'], groups: ['risk'], votes: 2, fromGroups: 2 },
      '2 votes from a member, ada or group risk, of 2 different groups',
    ],
  ])('%j', (more, words) => {
    expect(requirementInWords(needs(more))).toBe(words);
  });

  it('says what is missing, once', () => {
    const risk = needs({ roles: [], groups: ['risk'] });
    expect(missingInWords([risk, risk], [{ votes: 1, groups: 0 }])).toBe('1 more is needed from group risk');
    expect(missingInWords([risk, needs({ votes: 3, fromGroups: 1 })], [{ votes: 0, groups: 0 }])).toBe(
      '3 more are needed from an owner or an admin, of 1 more group',
    );
    expect(missingInWords([risk], [{ votes: 0, groups: 1 }])).toBe('a vote of 1 more group is needed, from group risk');
    expect(missingInWords([risk], [{ votes: 0, groups: 0 }])).toBe('');
  });
});
