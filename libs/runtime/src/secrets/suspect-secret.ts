import { DECODINGS, decoded } from './decodings.js';
import { looksSecret } from './suspected.js';

type Lint = (text: string) => Promise<boolean>;
let lint: Promise<Lint> | undefined;
/** Those of JSON. */
const [ESCAPES] = DECODINGS;

/** Loaded when it is first needed: most services never look into content. */
async function load(): Promise<Lint> {
  const [{ lintSource }, { creator }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
  ]);
  const options = { config: { rules: [{ id: 'recommend', rule: creator }] }, noPhysicFilePath: true };
  return async (content) => {
    const source = { filePath: 'content.txt', content, ext: '.txt', contentType: 'text' as const };
    return (await lintSource({ source, options })).messages.length > 0;
  };
}

/**
 * Whether the text is likely to hold a secret that nobody has declared: by names, by marks of its kind, and by the rules of
 * secretlint. An answer for eyes: a likely secret is to be flagged, never a reason to block.
 */
export async function suspectSecret(text: string): Promise<boolean> {
  lint ??= load();
  const find = await lint;
  for (const reading of new Set([text, decoded(text, ESCAPES)]))
    if (looksSecret(reading) || (await find(reading))) return true;
  return false;
}
