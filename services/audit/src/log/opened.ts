import { FROZEN_NONCE_BYTES, type Sealed, type SealedField, sealed } from '@holdpoint/contracts';
import { ContentDestroyed, ContentUnreadable, type Keyring, maskSuspected } from '@holdpoint/runtime';

const utf8 = new TextDecoder();
/** No event nests deeper; a body that does is none. */
const DEEPEST = 16;

/**
 * Every box of a body, opened: text by JSON pointer (RFC 6901), null for what was erased or does not open. What looks like
 * a secret is masked.
 */
export async function opened(keyring: Keyring, spaceId: string, body: unknown): Promise<Record<string, string | null>> {
  const found: [string, string | null][] = [];
  for (const { pointer, field, box } of boxesOf(body, '', '', 0))
    found.push([pointer, await open(keyring, box, spaceId, entitiesOf(body), field)]);
  return Object.fromEntries(found);
}

function* boxesOf(
  json: unknown,
  pointer: string,
  field: string,
  depth: number,
): Generator<{ pointer: string; field: SealedField; box: Sealed }> {
  if (typeof json !== 'object' || json === null || depth > DEEPEST) return;
  const box = sealed.safeParse(json);
  if (box.success) yield { pointer, field: field as SealedField, box: box.data };
  else
    for (const [name, value] of Object.entries(json))
      yield* boxesOf(value, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, name, depth + 1);
}

/** A copied box keeps the entity it was sealed for: the call of a result, the task of a prompt. */
function entitiesOf(body: unknown): string[] {
  const { subject, callid, runid, data } = body as Record<string, unknown>;
  const { taskId, work } = (data ?? {}) as { taskId?: unknown; work?: { wakeUp?: { callId?: unknown } } };
  const ids = [subject, callid, work?.wakeUp?.callId, taskId, runid];
  return [...new Set(ids.filter((id): id is string => typeof id === 'string'))];
}

async function open(keyring: Keyring, box: Sealed, spaceId: string, entities: string[], field: SealedField) {
  for (const entityId of entities)
    try {
      const bytes = await keyring.open(box, { spaceId, entityId, field });
      return maskSuspected(utf8.decode(field === 'frozen' ? bytes.subarray(FROZEN_NONCE_BYTES) : bytes));
    } catch (err) {
      if (err instanceof ContentDestroyed) return null;
      if (!(err instanceof ContentUnreadable)) throw err;
    }
  return null;
}
