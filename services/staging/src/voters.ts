import type { Identity } from '@holdpoint/contracts';
import type { IdentityFile, Memberships } from '@holdpoint/runtime';
import type { Place } from './domain/tally.js';

/** What people are in a space at this moment, as the one place says that they have their roles from. */
export class Voters {
  constructor(
    private readonly identities: Pick<IdentityFile, 'person'>,
    /** Where an issuer is set; otherwise people are in the identity file. */
    private readonly memberships: Memberships | undefined,
  ) {}

  /** @throws Refusal `unavailable` when it cannot be known */
  async now(spaceId: string, people: Iterable<string>): Promise<Map<string, Place>> {
    const ids = [...new Set(people)];
    return new Map(await Promise.all(ids.map(async (id) => [id, await this.#placeOf(spaceId, id)] as const)));
  }

  async #placeOf(spaceId: string, id: string): Promise<Place> {
    const standing = await (this.memberships?.standingOf(id) ?? this.identities.person(id));
    return standing === null ? null : placeIn(spaceId, standing);
  }
}

/** What somebody with this standing is in the space. */
export function placeIn(spaceId: string, { spaces, groups }: Pick<Identity, 'spaces' | 'groups'>): Place {
  const role = Object.hasOwn(spaces, spaceId) ? spaces[spaceId] : undefined;
  if (role === undefined) return null;
  return { role, groups: (groups && Object.hasOwn(groups, spaceId) && groups[spaceId]) || [] };
}
