import type { Identity } from '@holdpoint/contracts';
import { expect, test } from '@jest/globals';
import { Refusal } from '../refusal.js';
import { requireRole } from './require-role.js';

const ada: Identity = { kind: 'person', id: 'ada', name: 'Ada', spaces: { acme: 'member' } };
const staging: Identity = { kind: 'service', id: 'staging', name: 'staging', spaces: {} };

const kindOf = (fn: () => void) => {
  try {
    fn();
    return 'passes';
  } catch (err) {
    return err instanceof Refusal ? err.kind : err;
  }
};

test.each([
  ['a member, any role', () => requireRole(ada, 'acme'), 'passes'],
  ['a member with the role', () => requireRole(ada, 'acme', 'member', 'owner'), 'passes'],
  ['a member without it', () => requireRole(ada, 'acme', 'owner', 'admin'), 'forbidden'],
  ['a stranger learns nothing', () => requireRole(ada, 'other', 'owner'), 'not-found'],
  ['a name every object has', () => requireRole(ada, 'constructor'), 'not-found'],
  ['a service, even with a role', () => requireRole({ ...staging, spaces: { acme: 'owner' } }, 'acme'), 'forbidden'],
])('%s', (_, ask, answer) => expect(kindOf(ask)).toBe(answer));
