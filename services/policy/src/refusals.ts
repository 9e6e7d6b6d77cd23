import type { HaltView } from '@holdpoint/contracts';
import { Refusal } from '@holdpoint/runtime';
import type { RuleObjection } from './domain/space-rules.js';

export const notACreator = (): Refusal =>
  new Refusal(
    'forbidden',
    'policy.space-creators-only',
    'You may not create spaces; ask the operator to name your user id in SPACE_CREATORS.',
  );

export const namedTwice = (): Refusal =>
  new Refusal('invalid', 'policy.member-twice', 'Name each member once; you are the owner without being named.');

export const spaceExists = (): Refusal =>
  new Refusal('conflict', 'policy.space-exists', 'There is a space of this id already; choose another id.');

export const ownersOnly = (): Refusal =>
  new Refusal('forbidden', 'policy.owners-only', 'Only an owner makes or unmakes owners; ask one of them.');

export const lastOwner = (): Refusal =>
  new Refusal(
    'conflict',
    'policy.last-owner',
    'A space keeps an owner: make somebody else an owner first, then try again.',
  );

/** Where each of the names stands in the list that was sent. */
const at = (names: readonly string[], wrong: readonly string[], message: string) =>
  wrong.map((name) => ({ field: `allowDestructive.${names.indexOf(name)}`, message: `${name} ${message}` }));

export const unknownTool = (names: readonly string[], unknown: readonly string[]): Refusal =>
  new Refusal(
    'invalid',
    'policy.unknown-tool',
    `No agent of this space has ${unknown.join(', ')}: take it out of the list, or name it as GET …/tools does.`,
    { errors: at(names, unknown, 'is not a tool of this space') },
  );

export const notDestructive = (names: readonly string[], harmless: readonly string[]): Refusal =>
  new Refusal(
    'invalid',
    'policy.not-destructive',
    `Not destructive: ${harmless.join(', ')}. Take it out of the list: it needs no opt-in, rules decide about it.`,
    { errors: at(names, harmless, 'is not destructive') },
  );

export const notAcknowledged = (added: readonly string[]): Refusal =>
  new Refusal(
    'invalid',
    'policy.not-acknowledged',
    `What ${added.join(', ')} destroys cannot be brought back. If you understand that, send "acknowledged": true with the list.`,
    { errors: [{ field: 'acknowledged', message: 'must be true when the list allows anything new' }] },
  );

export const rulesObjected = (objections: readonly RuleObjection[]): Refusal =>
  new Refusal(
    'invalid',
    'policy.rules-refused',
    'The list is refused as a whole, so the rules from before hold. Correct what `errors` names and send it again.',
    { errors: objections.slice(0, 50).map((o) => ({ field: `rules.${o.index}.${o.field}`, message: o.message })) },
  );

export const rulesTooLong = (): Refusal =>
  new Refusal(
    'invalid',
    'policy.rules-too-long',
    'All rules together are too long. Name groups in requirements rather than single users, or shorten the reasons.',
  );

export const operatorsOnly = (): Refusal =>
  new Refusal(
    'forbidden',
    'policy.operators-only',
    'Only an operator halts everything or lifts that: ask one, or halt your own space.',
  );

export const unknownAgent = (agent: string): Refusal =>
  new Refusal(
    'invalid',
    'policy.unknown-agent',
    'No agent of this space has that name, so the halt would stop nothing. GET …/tools names the agents; or halt the space.',
    { errors: [{ field: 'agent', message: `${JSON.stringify(agent)} is not an agent of this space` }] },
  );

export const noSuchHalt = (): Refusal =>
  new Refusal('not-found', 'auth.not-found', 'There is no such thing, or you are not a member of its space.');

export const liftedBefore = ({ liftedBy, liftedAt }: HaltView): Refusal =>
  new Refusal('conflict', 'policy.halt-lifted', 'This halt was lifted before; nothing is left to do.', {
    extras: { liftedBy, liftedAt },
  });
