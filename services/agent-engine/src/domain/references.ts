/** Names of configured secrets. */
export const SECRET_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;

/** Whatever a reader could take for a reference, also a misspelt one: where references count, such a text must not pass as text. */
const REFERENCE = /\{\{\s*secret\s*:([^{}]*)\}\}/giu;

export const referenceTo = (name: string): string => `{{secret:${name}}}`;

/** What the text refers to, in order. Null for a reference that is not spelled as one. */
export function referencesIn(text: string): (string | null)[] {
  return [...text.matchAll(REFERENCE)].map(([whole, name = '']) =>
    SECRET_NAME.test(name) && whole === referenceTo(name) ? name : null,
  );
}

/** The text with `value(name)` in the place of each reference. What a value itself holds is text. */
export const resolveReferences = (text: string, value: (name: string) => string): string =>
  text.replace(/\{\{secret:([A-Z][A-Z0-9_]{0,63})\}\}/g, (_, name: string) => value(name));
