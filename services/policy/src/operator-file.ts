import { readFileSync } from 'node:fs';
import type { PolicyMode } from '@holdpoint/contracts';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import type { Fallback, RateLimit, Rule } from './domain/rules.js';
import { operatorSection } from './operator-section.js';
import { yamlFaults } from './yaml-faults.js';

/** What the operator says in the `policy:` section of holdpoint.yaml; its other sections belong to other services. */
export interface OperatorPolicy {
  mode?: PolicyMode | undefined;
  default?: Fallback | undefined;
  expiresAfterSeconds?: number | undefined;
  rateLimit?: RateLimit | undefined;
  rules: Rule[];
}

/** The file is refused whole: each fault with its line and what is wrong. */
export class OperatorFileError extends Error {
  override readonly name = 'OperatorFileError';
  constructor(
    path: string,
    readonly faults: readonly string[],
  ) {
    super(`${path} is refused as a whole, so no rule of it holds: ${faults.join('; ')}`);
  }
}

/** @throws OperatorFileError when the file cannot be read or anything in its policy section is wrong. */
export function readOperatorFile(path: string): OperatorPolicy {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (err) {
    throw new OperatorFileError(path, [`it cannot be read: ${(err as Error).message}`]);
  }
  return parseOperatorFile(text, path);
}

/** @throws OperatorFileError */
export function parseOperatorFile(text: string, path = 'holdpoint.yaml'): OperatorPolicy {
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines });
  const broken = yamlFaults(doc, lines);
  if (broken.length > 0) throw new OperatorFileError(path, broken);

  const whole: unknown = doc.toJS() ?? {};
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole))
    throw new OperatorFileError(path, ['line 1: must be a mapping with sections such as `policy:`']);
  const misspelt = Object.keys(whole).filter((key) => key !== 'policy' && /^\s*(pol|rules?\s*$)/i.test(key));
  if (misspelt.length > 0)
    throw new OperatorFileError(
      path,
      misspelt.map(
        (key) => `line ${lineOf(doc, lines, [key])}: ${JSON.stringify(key)}: the section is called \`policy\``,
      ),
    );

  const parsed = operatorSection.safeParse((whole as { policy?: unknown }).policy ?? {});
  if (!parsed.success)
    throw new OperatorFileError(
      path,
      parsed.error.issues.map((i) => {
        const at = ['policy', ...i.path.map((p) => (typeof p === 'symbol' ? String(p) : p))];
        const key = i.code === 'unrecognized_keys' ? i.keys[0] : undefined;
        return `line ${lineOf(doc, lines, key === undefined ? at : [...at, key])}: ${dotted(at)}: ${i.message}`;
      }),
    );
  const { mode, default: fallback, expiresAfter, rateLimit, rules } = parsed.data;
  const all = rules ?? [];
  const twice = contradictions(all).map(
    ([first, second]) =>
      `line ${lineOf(doc, lines, ['policy', 'rules', second])}: policy.rules[${second}]: names the same calls as the rule in line ${lineOf(doc, lines, ['policy', 'rules', first])}: keep one`,
  );
  const declared = agentsOf(whole);
  const strangers = all.flatMap((r, i) =>
    r.agent === undefined || declared === undefined || declared.includes(r.agent)
      ? []
      : `line ${lineOf(doc, lines, ['policy', 'rules', i, 'agent'])}: policy.rules[${i}].agent: there is no agent ${JSON.stringify(r.agent)}; declared: ${declared.join(', ') || 'none'}`,
  );
  const faults = [...twice, ...strangers];
  if (faults.length > 0) throw new OperatorFileError(path, faults);
  return { mode, default: fallback, expiresAfterSeconds: expiresAfter, rateLimit, rules: all };
}

/** Undefined where the file declares none: then it says nothing of which there are. */
function agentsOf(whole: object): string[] | undefined {
  const { agents } = whole as { agents?: unknown };
  return typeof agents === 'object' && agents !== null && !Array.isArray(agents) ? Object.keys(agents) : undefined;
}

type Path = (string | number)[];

const dotted = (path: Path): string =>
  path.reduce<string>((s, p) => (typeof p === 'number' ? `${s}[${p}]` : s === '' ? p : `${s}.${p}`), '');

/** The line of the innermost node on the way to `path`: a missing field has none of its own. */
function lineOf(doc: Document, lines: LineCounter, path: Path): number {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const node = doc.getIn(path.slice(0, depth), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

function contradictions(rules: readonly Rule[]): [number, number][] {
  const seen = new Map<string, number>();
  const out: [number, number][] = [];
  rules.forEach((r, i) => {
    const key = JSON.stringify([r.server ?? null, r.tool, r.action ?? null, r.agent ?? null]);
    const first = seen.get(key);
    if (first === undefined) seen.set(key, i);
    else out.push([first, i]);
  });
  return out;
}
