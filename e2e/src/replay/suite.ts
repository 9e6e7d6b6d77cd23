import { readFile } from 'node:fs/promises';
import { z } from 'zod';

const effect = z.enum(['read', 'reversible', 'irreversible']);
export type Effect = z.infer<typeof effect>;

const call = z.object({ function: z.string(), args: z.record(z.string(), z.unknown()), oracle_call: effect });
const suiteFile = z.object({
  tools: z
    .array(
      z.object({
        suite: z.string(),
        name: z.string().regex(/^[A-Za-z]\w{0,63}$/, 'must be a name that every model provider accepts'),
        doc: z.string(),
        parameters: z.record(
          z.string(),
          z.object({ type: z.union([z.string(), z.array(z.string())]), required: z.boolean() }),
        ),
      }),
    )
    .min(1),
  tasks: z
    .array(
      z.object({
        suite: z.string(),
        kind: z.enum(['user', 'injection']),
        id: z.string().regex(/^\w+$/),
        calls: z.array(call),
        /** Calls of the suite's keepers, where the original task has none. */
        derived_calls: z.array(call).optional(),
      }),
    )
    .min(1),
});

export type SuiteTool = z.infer<typeof suiteFile>['tools'][number];
export type RecordedCall = z.infer<typeof call>;
export interface Task {
  suite: string;
  id: string;
  calls: RecordedCall[];
}

export interface Suites {
  tools: SuiteTool[];
  user: Task[];
  injection: Task[];
}

/** @throws an error that names the file and the first thing in it that is wrong */
export async function readSuites(path: string): Promise<Suites> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new Error(`${path} cannot be read: ${error.message}`);
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON: ${(error as Error).message}`);
  }
  const parsed = suiteFile.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${path}: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { tools, tasks } = parsed.data;
  const names = new Set(tools.map((t) => t.name));
  if (names.size < tools.length) throw new Error(`${path}: tools: two of them share a name`);
  const all = tasks.map(({ derived_calls, ...t }) => ({
    ...t,
    calls: t.calls.length > 0 ? t.calls : (derived_calls ?? []),
  }));
  for (const t of all)
    for (const c of t.calls)
      if (!names.has(c.function))
        throw new Error(`${path}: task ${t.suite}/${t.id} calls ${c.function}, which is no tool`);
  const of = (kind: string) => all.filter((t) => t.kind === kind);
  return { tools, user: of('user'), injection: of('injection') };
}
