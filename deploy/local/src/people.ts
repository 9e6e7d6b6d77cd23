import type { Role } from '@holdpoint/contracts';

interface Person {
  id: string;
  name: string;
  spaces: Record<string, Role>;
}

/** Who can sign in at the development issuer, and what they are in the spaces of the demonstration when it begins. */
export const PEOPLE: readonly Person[] = [
  { id: 'ada', name: 'Ada Keller', spaces: { acme: 'owner' } },
  { id: 'ben', name: 'Ben Osei', spaces: { acme: 'admin' } },
  { id: 'mia', name: 'Mia Lindqvist', spaces: { acme: 'member' } },
  { id: 'max', name: 'Max Novak', spaces: { acme: 'member' } },
  { id: 'otto', name: 'Otto Brandt', spaces: { other: 'owner' } },
];

/** Who may halt everything. */
export const OPERATORS = ['ada'];

/** Who may export the whole audit log. */
export const AUDITORS = ['ada'];

/** Who may create spaces: the owners above. */
export const SPACE_CREATORS = PEOPLE.filter((p) => Object.values(p.spaces).includes('owner')).map((p) => p.id);
