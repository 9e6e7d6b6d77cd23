import { Refusal } from '@holdpoint/runtime';
import { referenceTo } from '../domain/references.js';
import type { Secrets } from '../secrets/secrets.js';

/**
 * What people write is kept as they wrote it, so a value in it is refused rather than taken out of their sentence.
 * @throws Refusal `engine.secret-literal`, with what to write in its place
 */
export function refuseSecrets(secrets: Secrets, field: string, text: string | undefined): void {
  const names = text === undefined ? [] : secrets.find(text);
  if (names.length === 0) return;
  const references = names.filter((n) => n !== '').map(referenceTo);
  const how =
    references.length === names.length
      ? `Write ${references.join(', ')} in its place: the agent never needs to see it.`
      : 'It is a credential of Holdpoint itself: leave it out, and replace it if others could read it where you have it from.';
  throw new Refusal(
    'unprocessable',
    'engine.secret-literal',
    `The field ${field} contains the value of a secret, so nothing of it was kept. ${how}`,
    { errors: [{ field, message: 'contains the value of a secret' }] },
  );
}
