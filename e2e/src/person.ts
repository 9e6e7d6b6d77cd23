import { createInterface } from 'node:readline/promises';
import type { ApprovalView } from '@holdpoint/contracts';

export interface Decision {
  decision: 'approve' | 'reject';
  /** Of a rejection; what the agent is told. */
  reason?: string;
}

/** `approve`, or `reject` and, if there is one, the reason behind it. Undefined for anything else. */
export function decisionOf(line: string): Decision | undefined {
  const [, word = '', reason = ''] = /^\s*(\S+)\s*(.*?)\s*$/.exec(line) ?? [];
  if (word === 'approve' && reason === '') return { decision: 'approve' };
  if (word === 'reject') return { decision: 'reject', ...(reason === '' ? {} : { reason }) };
  return undefined;
}

/** Asks whoever is at the terminal. @throws when the terminal closes before an answer */
export async function askAtTerminal(call: ApprovalView): Promise<Decision> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    terminal.setPrompt(`    ${call.spaceId}#${call.number}: approve, or reject [reason]? `);
    terminal.prompt();
    for await (const line of terminal) {
      const decision = decisionOf(line);
      if (decision !== undefined) return decision;
      console.log('    Nothing was decided. Type approve, or reject and behind it what the agent shall be told.');
      terminal.prompt();
    }
    throw new Error('the terminal was closed, and nothing was decided');
  } finally {
    terminal.close();
  }
}
