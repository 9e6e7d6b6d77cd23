import { createInterface } from 'node:readline/promises';

/** Whether somebody sits at the terminal who can be asked. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true;

/** What was typed; empty when the terminal closes before. */
export async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(question)).trim();
  } catch {
    return '';
  } finally {
    terminal.close();
  }
}
