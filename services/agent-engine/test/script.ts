/** One turn of a script in which the model emits these arguments, byte for byte. */
export const play = (tool: string, args: string): string => turn([{ tool, arguments: args }]);

export const turn = (calls: { tool: string; arguments: string }[], more: { waitMs?: number } = {}): string =>
  `      - ${JSON.stringify({ text: 'I act.', calls, ...more })}\n`;

/** A script that answers each prompt with its turn, then finishes. */
export const scriptOf = (turns: Record<string, string>): string =>
  `scripts:\n${Object.entries(turns)
    .map(([when, t]) => `  - when: ${JSON.stringify(`^${when}$`)}\n    turns:\n${t}      - text: finished\n`)
    .join('')}`;
