import type { Identity } from '@holdpoint/contracts';
import { requireRole } from '@holdpoint/runtime';

/**
 * Spaces whose audit this person may read: the one asked for, or all of theirs.
 * @throws Refusal `not-found` when the space asked for is not theirs
 */
export function readableSpaces(who: Identity, space: string | undefined): string[] {
  if (space === undefined) return Object.keys(who.spaces);
  requireRole(who, space);
  return [space];
}
