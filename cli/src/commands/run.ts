import { setTimeout as pause } from 'node:timers/promises';
import { type ApprovalSummary, approvalSummary, type RunView, runStatus, runView } from '@holdpoint/contracts';
import type { Client } from '../client.js';
import { advise, document, say, TYPED } from '../output.js';
import { parseId } from '../refs.js';
import { block, inline, named } from '../text.js';

interface RunOptions {
  json?: boolean;
  conversation?: string;
  wait: boolean;
}

const FIRST_POLL_MS = 100;
const SLOWEST_POLL_MS = 2_000;

/** Gives an agent a task and waits until its run is over. @returns the exit code: 1 when the run did not end well. */
export async function run(client: Client, agent: string, prompt: string[], o: RunOptions): Promise<number> {
  const body = {
    prompt: prompt.join(' '),
    ...(o.conversation === undefined ? {} : { conversationId: parseId(o.conversation) }),
  };
  const started = await client.post('engine', `/v1/agents/${encodeURIComponent(agent)}/runs`, body, runView);
  if (!o.json) say(`run ${started.id} of ${inline(started.agent)} in conversation ${started.conversationId}`);
  if (!o.wait) {
    if (o.json) document({ run: started, held: [] });
    else advise(`To see what became of it:  ${TYPED} chain ${started.id}`);
    return 0;
  }
  const over = await untilOver(client, started);
  const held = (
    await client.all('staging', '/v1/approvals', { status: 'pending', space: over.spaceId }, approvalSummary)
  ).filter((a) => a.runId === over.id);
  if (o.json) document({ run: over, held });
  else report(over, held);
  return over.state === 'ok' ? 0 : 1;
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
