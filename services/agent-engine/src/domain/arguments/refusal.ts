import { type Words, words } from '../words.js';

/** Stable codes of arguments that are refused before anything is proposed (charter, section 5). */
export type ArgumentsCode = keyof Words['arguments'];

/** A fixed sentence, since an echo of refused text would carry it on. */
export const sentenceFor = (code: ArgumentsCode): string => words.en.arguments[code];
