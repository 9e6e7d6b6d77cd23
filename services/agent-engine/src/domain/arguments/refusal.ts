const sentences = {
  'arguments.empty': 'The arguments are empty: send one JSON object with the fields of the action.',
  'arguments.not-json':
    'The arguments are not valid JSON: send exactly one JSON object as RFC 8259 defines it, with nothing before or after it.',
  'arguments.not-object':
    'The arguments are JSON but not an object: send one JSON object with the fields of the action.',
  'arguments.duplicate-key': 'An object in the arguments has the same key twice: send each key once.',
  'arguments.control-character':
    'A string in the arguments holds a raw control character: write it as an escape, such as \\n or \\t.',
  'arguments.nul': 'The arguments hold the character U+0000: leave it out.',
  'arguments.lone-surrogate': 'The arguments hold half of a surrogate pair: write the whole character or leave it out.',
  'arguments.proto-key': 'An object in the arguments has the key __proto__, which is not allowed: rename it.',
  'arguments.number-overflow':
    'A number in the arguments is too large to be represented: use a smaller one, or a string where the field takes one.',
  'arguments.too-deep': 'The arguments are nested too deeply: send a flatter object.',
  'arguments.too-large': 'The arguments are too large: send less in one call.',
} as const;

/** Stable codes of arguments that are refused before anything is proposed (charter, section 5). */
export type ArgumentsCode = keyof typeof sentences;

/** What the model is told: a fixed sentence, since an echo of refused text would carry it on. */
export const sentenceFor = (code: ArgumentsCode): string => sentences[code];
