import { referenceTo } from '../domain/references.js';
import { didNotHappen, type Tool, type ToolAction, type ToolOutcome } from '../tools/tool.js';
import { MisplacedReferenceError, type Secrets } from './secrets.js';

/**
 * The tool as the registry knows it. Whatever asks it to act gets values in the place of references for the tool and for
 * nobody else, and nothing that it answers or throws is seen by anybody before it is scrubbed. A preview gets the arguments as they
 * were frozen. The model is told which references it may use.
 */
export const guarded = (tool: Tool, secrets: Secrets): Tool => ({
  ...tool,
  actions: tool.actions.map((a) => guardedAction(tool.name, a, secrets)),
});

function guardedAction(tool: string, action: ToolAction, secrets: Secrets): ToolAction {
  const { reconcile, preview } = action;
  const withValues = async (args: unknown, work: (args: unknown) => Promise<ToolOutcome>) => {
    try {
      return scrubbed(await work(secrets.resolve(tool, action, args)), secrets);
    } catch (error) {
      if (error instanceof MisplacedReferenceError) return didNotHappen(error.message);
      throw withoutSecrets(error, secrets);
    }
  };
  return {
    ...action,
    description: [action.description, ...usage(tool, action, secrets)].join(' '),
    run: (args, ctx) => withValues(args, (given) => action.run(given, ctx)),
    ...(reconcile && { reconcile: (args, ctx) => withValues(args, (given) => reconcile(given, ctx)) }),
    ...(preview && {
      preview: async (args, ctx) => {
        try {
          return scrubbed(await preview(args, ctx), secrets);
        } catch (error) {
          throw withoutSecrets(error, secrets);
        }
      },
    }),
  };
}

const usage = (tool: string, action: ToolAction, secrets: Secrets): string[] =>
  ((action.secretFields ?? []) as readonly string[]).flatMap((field) => {
    const names = secrets.allowed(tool, action.name, field);
    if (names.length === 0) return [];
    return `In ${field} a reference stands for a secret that you cannot see: ${names.map(referenceTo).join(', ')}.`;
  });

/** Every string within, names included. */
function scrubbed<T>(value: T, secrets: Secrets): T {
  if (typeof value === 'string') return secrets.scrub(value) as T;
  if (Array.isArray(value)) return value.map((v) => scrubbed(v, secrets)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([k, v]) => [secrets.scrub(k), scrubbed(v as unknown, secrets)]),
  ) as T;
}

/** What it was, without its causes and its stack: they may quote anything. */
function withoutSecrets(error: unknown, secrets: Secrets): Error {
  return new Error(secrets.scrub(error instanceof Error ? error.message : 'The tool failed without a reason.'));
}
