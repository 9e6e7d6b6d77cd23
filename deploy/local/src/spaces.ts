import { type Role, spaceView } from '@holdpoint/contracts';
import { Refusal, serviceClient } from '@holdpoint/runtime';
import type { ClientFile } from './client-file.js';
import { PEOPLE } from './people.js';

/**
 * Has each space of the demonstration created by its owner, with everybody who belongs to it. One that is there stays as
 * people have made it since.
 */
export async function seedSpaces({ urls, people }: ClientFile): Promise<void> {
  for (const [spaceId, name] of Object.entries({ acme: 'Acme', other: 'Another company' })) {
    const all = PEOPLE.flatMap((p) => (p.spaces[spaceId] ? [{ ...p, role: p.spaces[spaceId] as Role }] : []));
    const owner = all.find((p) => p.role === 'owner');
    const members = all
      .filter((p) => p !== owner)
      .map(({ id, name: displayName, role }) => ({ userId: id, displayName, role }));
    const policy = serviceClient({ baseUrl: urls.policy, token: people[owner?.id ?? ''] ?? '', timeoutMs: 10_000 });
    await policy.post('/api/v1/spaces', { spaceId, name, members }, spaceView).catch((err: unknown) => {
      if (!(err instanceof Refusal && err.code === 'policy.space-exists')) throw err;
    });
  }
}
