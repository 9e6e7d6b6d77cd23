import { z } from 'zod';
import { displayName, principal, role, userId } from '../principal.js';
import { define } from './define.js';

export const policySpaceCreated = define({
  type: 'policy.space-created',
  version: 1,
  publisher: 'policy',
  entity: 'space',
  once: true,
  description: 'A space begins. Whoever created it becomes its first owner, by the event after this one.',
  when: 'When a person makes a space, in the transaction that stores it.',
  data: z.strictObject({ name: displayName, createdBy: principal }),
});

export const policyMemberChanged = define({
  type: 'policy.member-changed',
  version: 1,
  publisher: 'policy',
  entity: 'space',
  once: false,
  description: 'What a person may do in the space from now on.',
  when: 'When a person is given a role in a space, another role or none, in the transaction that stores it.',
  data: z.strictObject({
    userId,
    displayName,
    /** Null: no longer a member. */
    role: role.nullable(),
    changedBy: principal,
  }),
});
