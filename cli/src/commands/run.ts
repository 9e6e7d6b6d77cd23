import { setTimeout as pause } from 'node:timers/promises';
import {
  type ApprovalSummary,
  approvalSummary,
  type RunProgress,
  type RunView,
  runProgress,
  runStatus,
  runView,
} from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { Failure } from '../failure.js';
import { advise, document, say, TYPED } from '../output.js';
import { tellOfTrial } from '../policy-mode.js';
import { parseId } from '../refs.js';
import { block, inline, named } from '../text.js';

interface RunOptions {
  json?: boolean;
  conversation?: string;
  wait: boolean;
}

const FIRST_POLL_MS = 100;
const SLOWEST_POLL_MS = 2_000;

/** Gives an agent a task and shows what happens until its run is over. @returns the exit code: 1 when the run did not end well. */
export async function run(client: Client, agent: string, prompt: string[], o: RunOptions): Promise<number> {
  const body = {
    prompt: prompt.join(' '),
    ...(o.conversation === undefined ? {} : { conversationId: parseId(o.conversation) }),
  };
  const started = await client
    .post('engine', `/v1/agents/${encodeURIComponent(agent)}/runs`, body, runView)
    .catch((error) => unknownAgent(error, agent, o.conversation));
  if (!o.json) await tellOfTrial(client);
  if (!o.json) say(`run ${started.id} of ${inline(started.agent)} in conversation ${started.conversationId}`);
  if (!o.wait) {
    if (o.json) document({ run: started, held: [] });
    else advise(`To see what became of it:  ${TYPED} chain ${started.id}`);
    return 0;
  }
  const over = (o.json ? undefined : await watched(client, started)) ?? (await untilOver(client, started));
  const held = (
    await client.all('staging', '/v1/approvals', { status: 'pending', space: over.spaceId }, approvalSummary)
  ).filter((a) => a.runId === over.id);
  if (o.json) document({ run: over, held });
  else report(over, held);
  return over.state === 'ok' ? 0 : 1;
}

/** A service does not say which of the two it is, nor to a stranger which agents there are. */
function unknownAgent(error: unknown, agent: string, conversation: string | undefined): never {
  if (!(error instanceof Failure) || error.problem.status !== 404 || conversation !== undefined) throw error;
  const detail = `There is no agent ${inline(agent)}, or you are not a member of its space. Agents are declared in holdpoint.yaml.`;
  throw new Failure({ ...error.problem, detail });
}

/** Shows what happens. @returns the run as it ended, or undefined when that was not told. */
async function watched(client: Client, started: RunView): Promise<RunView | undefined> {
  for await (const event of client.watch('engine', `/v1/runs/${started.id}`, runProgress)) {
    if (event.type === 'run.completed') return event.run;
    const line = told(event);
    if (line !== undefined) say(`  ${line}`);
  }
  return undefined;
}

function told(e: RunProgress): string | undefined {
  switch (e.type) {
    case 'run.started':
      return 'started';
    case 'step':
      return e.text === '' ? undefined : `${e.step}. ${inline(e.text, 100)}`;
    case 'call.held':
      return `   ${named(e)}: held${e.number === null ? '' : ` as #${e.number}`}`;
    case 'call.denied':
      return `   ${named(e)}: denied, ${inline(e.reason)}`;
    case 'call.executed':
      return `   ${named(e)}: ${e.status}`;
    case 'call.in-doubt':
      return `   ${named(e)}: in doubt`;
    default:
      return undefined;
  }
}

async function untilOver(client: Client, started: RunView): Promise<RunView> {
  let view = started;
  for (let ms = FIRST_POLL_MS; !isOver(view); ms = Math.min(ms * 1.5, SLOWEST_POLL_MS)) {
    await pause(ms);
    view = await client.get('engine', `/v1/runs/${started.id}`, runView);
  }
  return view;
}

const isOver = (view: RunView) => (runStatus.options as string[]).includes(view.state);

function report(view: RunView, held: ApprovalSummary[]): void {
  if (view.result !== null) say('', ...block(view.result));
  if (view.state !== 'ok') say('', `The run ended ${view.state}${view.reason ? ` (${inline(view.reason)})` : ''}.`);
  for (const a of held) {
    say('', `Held for a person: ${named(a)} as ${a.spaceId}#${a.number}.`);
    advise(`  ${TYPED} show ${a.spaceId}#${a.number}`);
  }
  say('');
  advise(`To go on talking:  ${TYPED} run ${inline(view.agent)} --conversation ${view.conversationId} '…'`);
  advise(`To see each step:  ${TYPED} chain ${view.id}`);
}
