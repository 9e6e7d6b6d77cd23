import type { Client } from '../client.js';
import { document, say } from '../output.js';
import { spacesOf } from '../spaces-of.js';
import { inline, table } from '../text.js';

/** Lists the spaces that the person is a member of. */
export async function spaces(client: Client, o: { json?: boolean }): Promise<number> {
  const items = await spacesOf(client);
  if (o.json) document({ items });
  else if (items.length === 0) say('You are a member of no space. An owner or admin of one can take you in.');
  else
    say(
      ...table(
        ['SPACE', 'NAME', 'YOU ARE', 'CREATED BY', 'AT'],
        items.map((s) => [s.spaceId, inline(s.name, 40), s.role, inline(s.createdBy, 40), s.createdAt]),
      ),
    );
  return 0;
}
