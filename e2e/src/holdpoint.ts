import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The checkout, from the sources as from what is built of them. */
function root(folder = import.meta.dirname): string {
  return existsSync(join(folder, 'pnpm-workspace.yaml')) ? folder : root(dirname(folder));
}
const main = join(root(), 'cli', 'dist', 'src', 'main.js');

export interface Said {
  code: number;
  stdout: string;
  stderr: string;
}

/** The `holdpoint` command as a person would type it, in a process of its own, who has set up no other system. */
export function holdpoint(home: string, as: string, ...args: string[]): Promise<Said> {
  return new Promise((resolve, reject) => {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDPOINT_'));
    const env = { ...Object.fromEntries(inherited), HOLDPOINT_HOME: home, HOLDPOINT_AS: as, NO_COLOR: '1' };
    const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (d: Buffer) => {
      stdout += d.toString();
    });
    child.stderr.on('data', (d: Buffer) => {
      stderr += d.toString();
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, stdout, stderr }));
  });
}

/** The same with `--json`. @throws what the command said when it was refused. */
export async function holdpointJson<T>(home: string, as: string, ...args: string[]): Promise<T> {
  const said = await holdpoint(home, as, '--json', ...args);
  if (said.code !== 0) throw new Error(`holdpoint ${args.join(' ')}: ${said.stderr.trim() || said.stdout.trim()}`);
  return JSON.parse(said.stdout) as T;
}
