import { z } from 'zod';
import { name, token } from '../ids.js';
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
    /** What approvals can ask for beside roles; absent: in none. */
    groups: z.array(token).max(50).optional(),
    changedBy: principal,
  }),
});

/** As people write it: `Tool.action`, or `server/Tool.action` of a foreign server. Never matched against. */
const written = z.string().min(1).max(300);

export const policyChanged = define({
  type: 'policy.changed',
  version: 1,
  publisher: 'policy',
  entity: 'space',
  once: false,
  description: 'What a space lets its agents do has changed. What was read of its policy before is out of date.',
  when: 'When somebody changes opt-ins or rules of a space, or sets or lifts a halt.',
  data: z.strictObject({
    what: z.enum(['preferences', 'rules', 'halt']),
    /** Of the space, one higher with each change. Of halts of everything it is that of the space `_all`. */
    revision: z.int().min(1),
    by: principal,
    added: z.array(written).max(500),
    removed: z.array(written).max(500),
    /** All opt-ins after the change, when `what` is preferences; a JSON text of all rules, when it is rules. */
    allowDestructive: z.array(written).max(50).optional(),
    rules: z.string().max(200_000).optional(),
    halt: z
      .strictObject({
        id: token,
        scope: z.enum(['everything', 'space', 'agent']),
        agent: name.nullable(),
        reason: z.string().max(500),
        lifted: z.boolean(),
      })
      .optional(),
  }),
});
