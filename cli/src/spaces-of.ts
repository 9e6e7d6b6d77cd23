import { type SpaceView, spaceView, token } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Client } from './client.js';
import { misused } from './failure.js';

const listed = z.object({ items: z.array(spaceView) });

export const spacesOf = async (client: Client): Promise<SpaceView[]> =>
  (await client.get('policy', '/api/v1/spaces', listed)).items;

/** The space that was named, or the only one that the person is a member of. @throws Failure (usage) when it is not clear */
export async function spaceOf(client: Client, named: string | undefined): Promise<string> {
  if (named !== undefined) {
    if (!token.safeParse(named).success) throw misused('A space is named by its id, such as acme.');
    return named;
  }
  const spaces = await spacesOf(client);
  const [only] = spaces;
  if (only === undefined) throw misused('You are a member of no space. Name the one that you mean with --space.');
  if (spaces.length > 1)
    throw misused(`You are a member of ${spaces.map((s) => s.spaceId).join(', ')}. Name one with --space.`);
  return only.spaceId;
}

/** Of an interface of the space. */
export const pathOf = (space: string, rest: string): string => `/api/v1/spaces/${encodeURIComponent(space)}/${rest}`;
