import { spawn } from 'node:child_process';
import { join } from 'node:path';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** One of this package's programs, as its npm script runs it: a process of its own. */
export function run(program: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'dist', 'src', program), ...args], {
      // whoever runs the tests may have a model of their own set up
      env: { ...process.env, OPENAI_BASE_URL: '', HOLDPOINT_MODEL: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const out = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        out[stream] += text;
      });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, ...out }));
  });
}

/** The last line of a program that ends in one JSON object. @throws with what it said when it ends in something else */
export function lastLine<T>(ran: Ran): T {
  const last = ran.stdout.trimEnd().split('\n').at(-1) ?? '';
  try {
    return JSON.parse(last) as T;
  } catch {
    throw new Error(`ended with code ${ran.code} and without its JSON line; it said:\n${ran.stderr.slice(-4_000)}`);
  }
}
