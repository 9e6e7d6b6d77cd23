import { JetStreamServer } from '@holdpoint/eventing';
import { createService, loadConfig } from '@holdpoint/runtime';
import { z } from 'zod';
import type { ToolContext, ToolOutcome } from '../../src/tools/tool.js';

// An engine in a process of its own, as it is built, with one more tool: it can be killed and frozen like any other.
// Told to `close` it drains and ends. `MUTANT=no-lease` answers every question for the lease with yes.

const built = (file: string) => new URL(`../../dist/src/${file}`, import.meta.url).href;
const { AgentEngineModule } = (await import(
  built('agent-engine.module.js')
)) as typeof import('../../src/agent-engine.module.js');
const { engineConfig } = (await import(built('config.js'))) as typeof import('../../src/config.js');
const { builtinTools } = (await import(built('tools/catalogue.js'))) as typeof import('../../src/tools/catalogue.js');
const { done, didNotHappen, mayNotBegin, unknown } = (await import(
  built('tools/tool.js')
)) as typeof import('../../src/tools/tool.js');

const mutant = process.env['MUTANT'] === 'no-lease';
if (mutant) {
  const { Executions } = (await import(built('store/executions.js'))) as typeof import('../../src/store/executions.js');
  Executions.prototype.leased = async () => true;
}

const remote = process.env['REMOTE_URL'] ?? '';
const note = process.env['REMOTE_NOTE_MAX'] ? z.string().max(Number(process.env['REMOTE_NOTE_MAX'])) : z.string();
const description = 'Acts at the remote end.';

async function ask(what: string, action: string, ctx: ToolContext): Promise<{ known?: boolean; done?: boolean }> {
  const answer = await fetch(`${remote}/${what}/${action}/${ctx.callId}/${ctx.attempt}`, { method: 'POST' });
  return (await answer.json()) as { known?: boolean; done?: boolean };
}

async function run({ action }: { action: string }, ctx: ToolContext): Promise<ToolOutcome> {
  await ask('begin', action, ctx);
  // a thawed process also finds the time of the tool up, which would hide the mutant
  const late = await mayNotBegin(mutant ? { ...ctx, signal: new AbortController().signal } : ctx);
  if (late !== undefined) {
    await ask('not-begun', action, ctx);
    return didNotHappen(late);
  }
  const { known } = await ask('effect', action, ctx);
  return known ? done(`done at attempt ${ctx.attempt}`) : unknown('The remote end did not say.');
}

const actionOf = (name: string, executionClass: 'idempotent' | 'keyed' | 'reconcilable' | 'at-most-once') => ({
  name,
  description,
  hint: 'write' as const,
  scope: 'user' as const,
  executionClass,
  schema: z.strictObject({ action: z.literal(name), note }),
  timeoutMs: 2_000,
  run: run as (args: unknown, ctx: ToolContext) => Promise<ToolOutcome>,
  ...(executionClass === 'reconcilable'
    ? {
        reconcile: async (_args: unknown, ctx: ToolContext) =>
          (await ask('lookup', name, ctx)).done ? done('it had been done') : didNotHappen('It had not been done.'),
      }
    : {}),
});

const tool = {
  name: 'Remote',
  description,
  actions: [
    actionOf('idempotent', 'idempotent'),
    actionOf('keyed', 'keyed'),
    actionOf('reconcilable', 'reconcilable'),
    actionOf('once', 'at-most-once'),
  ],
};

const config = loadConfig(engineConfig);
const app = await createService({
  name: 'agent-engine',
  module: AgentEngineModule.forRoot(config, [...builtinTools(config), tool]),
  config,
  strategy: (a) => a.get(JetStreamServer),
});
process.on('message', async () => {
  await app.close();
  process.exit(0);
});
process.send?.({ url: await app.getUrl() });
