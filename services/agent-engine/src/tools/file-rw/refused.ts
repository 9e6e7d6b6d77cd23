/** A refusal whose message is for the model. Thrown only while nothing has been done. */
export class Refused extends Error {}

const sentences: Record<string, string> = {
  ENOENT: 'There is no such file or folder. Use list to see what is there.',
  ENOTDIR: 'A part of the path is no folder, or is a link; links are not followed.',
  ELOOP: 'The path leads to a link; links are not followed.',
  EMLINK: 'The path leads to a link; links are not followed.',
  EISDIR: 'The path is a folder. Name a file in it.',
  ENXIO: 'The path is no plain file.',
  EACCES: 'The workspace does not permit that.',
  EPERM: 'The workspace does not permit that.',
  EROFS: 'The workspace is read-only.',
  ENOSPC: 'The workspace is full.',
  EDQUOT: 'The workspace is full.',
  ENAMETOOLONG: 'A name in the path is too long.',
};

/** What the model is told of an error before the effect; it names no path of the machine. */
export function refusal(error: unknown): string {
  if (error instanceof Refused) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  return (
    (code && sentences[code]) || `The workspace could not do that${code ? ` (${code})` : ''}. Nothing was changed.`
  );
}
