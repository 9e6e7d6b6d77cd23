import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ApprovalView,
  approvalView,
  conversationView,
  page,
  printable,
  type Receipt,
  type RunView,
  receipt,
  type TaskView,
  taskView,
} from '@holdpoint/contracts';
import { simpleParser } from 'mailparser';
import { z } from 'zod';
import { Api, until } from './api.js';
import { holdpoint, holdpointJson } from './holdpoint.js';
import type { Decision } from './person.js';

export interface Stage {
  home: string;
  urls: { engine: string; staging: string; taskboard: string; audit: string };
  people: Record<string, string>;
  /** Who decides; without, the first call is approved and the second one rejected. */
  ask?: (call: ApprovalView) => Promise<Decision>;
}

export const say = (text: string) => console.log(`\n▸ ${text}`);
export const show = (text: string) => console.log(text.replace(/^/gm, '    '));

/**
 * The story of the README, checked at every turn: an agent reads the inbox, proposes a mail, its run ends; a person decides.
 * What is approved goes out, exactly as it was frozen; what is rejected never does; the agent hears of it, in the same
 * conversation. Then the same with a second mail.
 * @returns what the stream says has happened, counted. @throws at the first thing that is not as promised.
 */
export async function playStory(stage: Stage) {
  const { home } = stage;
  const as = (person: string, url: string) => new Api({ url, token: stage.people[person] ?? '' });
  const staging = as('ada', stage.urls.staging);

  say('Ada asks the assistant to look through the inbox.');
  const first = await run(stage, 'Please look through the inbox and answer what needs an answer.');
  show(first.result ?? '');
  assert.equal(first.state, 'ok', 'the run ends normally while the call is held');

  const held = await onlyPending(staging);
  say(`${held.spaceId}#${held.number} is held: ${held.tool}.${held.action}. Nothing has left the house:`);
  assert.equal((await outbox(home)).length, 0, 'no mail before the approval');
  const one = await decided(stage, held, { decision: 'approve' });

  say('In the same conversation Ada asks for a second thing.');
  const second = await run(stage, 'Answer the newsletter as well.', first.conversationId);
  show(second.result ?? '');
  const two = await decided(stage, await onlyPending(staging), { decision: 'reject', reason: 'We stay subscribed.' });

  say('The agent was woken twice, in the same conversation:');
  const engine = as('ada', stage.urls.engine);
  const { turns } = await engine.get(`/v1/conversations/${first.conversationId}`, conversationView);
  for (const t of turns) show(`${t.role.padEnd(9)} ${printable(t.text)}`);

  const audit = as('ada', stage.urls.audit);
  const receipts: Receipt[] = [];
  for (const { task } of [one, two]) {
    const found = await until('the receipt of a wake-up', async () => {
      const { items } = await audit.get(`/v1/audit/receipts?task=${task.id}`, page(receipt));
      return items[0];
    });
    assert.equal(found.taskId, task.id, 'the receipt carries the task');
    assert.equal(found.conversationId, first.conversationId, 'the wake-up came in the same conversation');
    receipts.push(found);
  }

  for (const { call } of [one, two]) {
    say(`The chain of ${call.spaceId}#${call.number}, from the stream:`);
    show((await holdpoint(home, 'ada', 'chain', call.id)).stdout);
  }
  const checked = await until('the stream to come to rest', async () => {
    const said = await holdpoint(home, 'ada', '--json', 'check', '--settled');
    return said.code === 0 ? (JSON.parse(said.stdout) as { counts: Record<string, number> }) : undefined;
  });
  say('`check` read the stream alone and found nothing wrong.');
  const counts = count(checked.counts);
  const said = (decision: string) => [one, two].filter((d) => d.decision === decision).length;
  assert.deepEqual(
    { held: counts.held, approved: counts.approved, rejected: counts.rejected, woken: counts.woken },
    { held: 2, approved: said('approve'), rejected: said('reject'), woken: 2 },
    'the stream counts what was decided',
  );
  return counts;
}

/** What the checker counted, under the names of the README. */
function count(c: Record<string, number>) {
  const of = (key: string) => c[key] ?? 0;
  return {
    proposed: of('proposed'),
    auto: of('auto'),
    held: of('held'),
    approved: of('approved'),
    rejected: of('rejected'),
    executed: of('executed'),
    woken: of('woken'),
    receipts: of('receipts'),
  };
}

/** Has the assistant do something, as Ada, and waits for its answer. */
export async function run(stage: Pick<Stage, 'home'>, prompt: string, conversationId?: string): Promise<RunView> {
  const where = conversationId === undefined ? [] : ['--conversation', conversationId];
  const said = await holdpointJson<RunView | { run: RunView }>(stage.home, 'ada', 'run', 'assistant', prompt, ...where);
  return 'run' in said ? said.run : said;
}

async function onlyPending(staging: Api): Promise<ApprovalView> {
  const { items } = await staging.get('/v1/approvals?status=pending', page(z.object({ id: z.string() })));
  assert.equal(items.length, 1, 'exactly one call is held');
  return staging.get(`/v1/approvals/${items[0]?.id}`, approvalView);
}

/** One decision and what must follow from it: a mail or none, and a wake-up that tells the agent. */
async function decided(stage: Stage, call: ApprovalView, written: Decision) {
  const ref = `${call.spaceId}#${call.number}`;
  const before = await outbox(stage.home);
  show((await holdpoint(stage.home, 'ben', 'show', ref)).stdout);
  if (stage.ask) say('Your turn, as Ben. You decide; the story goes on either way.');
  const { decision, reason } = (await stage.ask?.(call)) ?? written;
  const command = [decision, ref, ...(reason === undefined ? [] : [`--reason=${reason}`])];
  say(`Ben decides: holdpoint ${printable(command.join(' '))}`);
  await holdpointJson(stage.home, 'ben', ...command, '--digest', call.digest);

  const task = await woken(stage, call);
  const sent = (await outbox(stage.home)).filter((name) => !before.includes(name));
  const heard = decision === 'approve' ? 'was approved and executed' : 'was rejected';
  if (decision === 'approve') {
    assert.equal(sent.length, 1, 'one mail after the approval');
    const frozen = JSON.parse(call.arguments) as { body: string };
    const mail = await simpleParser(await readFile(join(outboxOf(stage.home), sent[0] ?? '')));
    assert.equal(mail.text, frozen.body, 'the mail holds exactly the frozen body');
    say('The mail is out, and it holds exactly the frozen body:');
    show(frozen.body);
  } else {
    assert.equal(sent.length, 0, 'a rejected call never runs');
    say(`Nothing went out. The agent hears that it ${heard}${reason === undefined ? '' : `: ${printable(reason)}`}`);
  }
  const engine = new Api({ url: stage.urls.engine, token: stage.people['ada'] ?? '' });
  const { turns } = await engine.get(`/v1/conversations/${call.conversationId}`, conversationView);
  const told = turns.filter((t) => t.role === 'user' && t.text.includes(ref)).at(-1)?.text ?? '';
  assert.ok(told.includes(heard), 'the agent heard of the decision');
  assert.ok(told.includes(reason === undefined ? '' : JSON.stringify(reason)), 'and of its reason');
  return { call, decision, task };
}

/** The wake-up that follows a decision, once the agent has dealt with it. */
async function woken(stage: Stage, call: ApprovalView): Promise<TaskView> {
  const board = new Api({ url: stage.urls.taskboard, token: stage.people['ada'] ?? '' });
  return until(`the wake-up after ${call.spaceId}#${call.number}`, async () => {
    const { items } = await board.get(`/v1/tasks?call=${call.id}`, page(taskView));
    return items.find((t) => t.state === 'done');
  });
}

const outboxOf = (home: string): string => join(home, 'demo', 'outbox');

async function outbox(home: string): Promise<string[]> {
  return (await readdir(outboxOf(home))).filter((name) => name.endsWith('.eml'));
}
