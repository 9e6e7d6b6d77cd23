import { readFile } from 'node:fs/promises';
import { misused } from './failure.js';

/** Text of a file that was named on the command line. @throws Failure (usage) */
export const textOf = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw misused(`${file} cannot be read (${error.code}).`);
  });

const MOST_TEXT = 64 * 1024;
/** The services take bodies of 1 MiB, and cut off what is larger before anybody hears why. */
const MOST_JSON = 1000 * 1024;

/** Rules that are not in force, as policy takes them: `*.json` are a space's, anything else is a holdpoint.yaml. */
export async function draftIn(file: string): Promise<{ rules: unknown } | { file: string }> {
  const text = await textOf(file);
  if (!file.endsWith('.json')) {
    if (text === '') throw misused(`${file} is empty.`);
    if (text.length > MOST_TEXT)
      throw misused(
        `${file} is larger than the ${MOST_TEXT / 1024} KiB that policy looks at: leave out other sections.`,
      );
    return { file: text };
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw misused(`${file} is not JSON. Begin with what \`rules show --json\` prints.`);
  }
  if (text.length > MOST_JSON)
    throw misused(`${file} is larger than the ${MOST_JSON / 1024} KiB that policy looks at.`);
  const { rules } = (json ?? {}) as { rules?: unknown };
  if (rules === undefined) throw misused(`${file} has no \`rules\`. Begin with what \`rules show --json\` prints.`);
  return { rules };
}
