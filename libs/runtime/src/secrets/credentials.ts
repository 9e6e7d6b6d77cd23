import { type KnownSecret, MASK, SHORTEST_SECRET } from './known-secrets.js';

const CREDENTIAL = /_(?:TOKEN|KEY|PASSWORD|SECRET|PIN)$/;

/**
 * The credentials among a service's settings: tokens, keys and passwords by their variable's name, and the passwords within
 * URLs. `unsearchable` names the variables whose credential is too short to be told from other text, or is its user's name.
 */
export function credentialsOf(config: object): { known: KnownSecret[]; unsearchable: string[] } {
  const known: KnownSecret[] = [];
  const unsearchable: string[] = [];
  for (const [name, value] of Object.entries(config)) {
    if (typeof value !== 'string') continue;
    const found = CREDENTIAL.test(name) ? [value] : name.endsWith('_URL') ? passwordsIn(value) : [];
    for (const secret of found)
      if (secret !== null && secret.length >= SHORTEST_SECRET) known.push({ name, value: secret, label: MASK });
      else if (!unsearchable.includes(name)) unsearchable.push(name);
  }
  return { known, unsearchable };
}

/** As it is used and as it is written. Null for one that is its user's name: that stands in too many texts. */
function passwordsIn(url: string): (string | null)[] {
  const { username, password } = URL.parse(url) ?? { username: '', password: '' };
  if (password === '') return [];
  if (password === username) return [null];
  return [...new Set([decoded(password), password])];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
