import { expect, test } from '@jest/globals';
import { make, SPACE, stored } from '../../test/chain/make.js';
import type { Role } from '../principal.js';
import { checkStream } from './check.js';

const person = (id: string) => ({ kind: 'person' as const, id });
const created = () => make('policy.space-created', SPACE, { name: 'Acme', createdBy: person('ada') });
const change = (by: string, userId: string, role: Role | null) =>
  make('policy.member-changed', SPACE, { userId, displayName: userId, role, changedBy: person(by) });
const founded = () => [
  created(),
  change('ada', 'ada', 'owner'),
  change('ada', 'ben', 'admin'),
  change('ben', 'mia', 'member'),
];

test.each([
  ['a space as it should be', [...founded(), change('mia', 'mia', null), change('ada', 'ben', 'owner')], []],
  ['created twice', [...founded(), created()], ['space.order']],
  ['a member of nothing', [change('ada', 'ada', 'owner')], ['space.order']],
  ['a member changes members', [...founded(), change('mia', 'ben', null)], ['space.entitlement']],
  ['a stranger comes in', [...founded(), change('eve', 'eve', 'owner')], ['space.entitlement']],
  ['an admin makes an owner', [...founded(), change('ben', 'ben', 'owner')], ['space.entitlement']],
  [
    'an admin unmakes an owner',
    [...founded(), change('ada', 'mia', 'owner'), change('ben', 'ada', 'member')],
    ['space.entitlement'],
  ],
  ['the last owner leaves', [...founded(), change('ada', 'ada', null)], ['space.no-owner']],
])('%s', (_, events, codes) => {
  expect(checkStream(stored(events)).violations.map((v) => v.code)).toEqual(codes);
});
