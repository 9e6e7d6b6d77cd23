import { Refusal } from '@holdpoint/runtime';

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
