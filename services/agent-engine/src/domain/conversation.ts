/** One call as the model wrote it. `input` is the exact argument text; it is never re-serialised. */
export interface WrittenCall {
  callId: string;
  providerCallId: string;
  tool: string;
  input: string;
}

export type Turn =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls: WrittenCall[] }
  | { role: 'tool'; results: { providerCallId: string; tool: string; text: string }[] };

/** The turns as plain text for people. */
export function turnText(turn: Turn): string {
  if (turn.role === 'user') return turn.text;
  if (turn.role === 'tool') return turn.results.map((r) => r.text).join('\n');
  return [turn.text, ...turn.calls.map((c) => `${c.tool}(${c.input})`)].filter((t) => t !== '').join('\n');
}
