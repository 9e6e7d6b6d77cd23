import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
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

export interface Stage {
  home: string;
  urls: { engine: string; staging: string; taskboard: string; audit: string };
  people: Record<string, string>;
  /** `person`: somebody at the terminal decides, and is told what to type. */
  decide: 'alone' | 'person';
}

const say = (text: string) => console.log(`\n▸ ${text}`);
const show = (text: string) => console.log(text.replace(/^/gm, '    '));

/**
 * The story of the README, checked at every turn: an agent reads the inbox, proposes a mail, its run ends; a person
 * releases it and exactly that mail goes out; a second one is rejected; the agent hears of both in its conversation.
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
  assert.deepEqual(await outbox(home), [], 'no mail before the approval');
  show((await holdpoint(home, 'ben', 'show', `${held.spaceId}#${held.number}`)).stdout);

  await decide(stage, held, 'approve');
  const wokenByApproval = await woken(stage, held);
  const [mail] = await outbox(home);
  assert.ok(mail, 'one mail after the approval');
  const frozen = JSON.parse(held.arguments) as { body: string };
  assert.equal((await simpleParser(mail)).text, frozen.body, 'the mail holds exactly the frozen body');
  say('The mail is out, and it holds exactly the frozen body:');
  show(frozen.body);

  say('In the same conversation Ada asks for a second thing; this one is rejected.');
  const second = await run(stage, 'Answer the newsletter as well.', first.conversationId);
  show(second.result ?? '');
  const refused = await onlyPending(staging);
  await decide(stage, refused, 'reject', 'We stay subscribed.');
  const wokenByRejection = await woken(stage, refused);
  assert.equal((await outbox(home)).length, 1, 'a rejected call never runs');

  const engine = as('ada', stage.urls.engine);
  const { turns } = await engine.get(`/v1/conversations/${first.conversationId}`, conversationView);
  const heard = turns.filter((t) => t.role === 'user').map((t) => t.text);
  assert.ok(
    heard.some((t) => t.includes('was approved and executed')),
    'the agent heard of the approval',
  );
  assert.ok(
    heard.some((t) => t.includes('was rejected') && t.includes('We stay subscribed.')),
    'and of the rejection, with its reason',
  );
  say('The agent was woken twice, in the same conversation:');
  for (const t of turns) show(`${t.role.padEnd(9)} ${printable(t.text)}`);

  const audit = as('ada', stage.urls.audit);
  const receipts: Receipt[] = [];
  for (const task of [wokenByApproval, wokenByRejection]) {
    const found = await until('the receipt of a wake-up', async () => {
      const { items } = await audit.get(`/v1/audit/receipts?task=${task.id}`, page(receipt));
      return items[0];
    });
    assert.equal(found.taskId, task.id, 'the receipt carries the task');
    assert.equal(found.conversationId, first.conversationId, 'the wake-up came in the same conversation');
    receipts.push(found);
  }

  for (const call of [held, refused]) {
    say(`The chain of ${call.spaceId}#${call.number}, from the stream:`);
    show((await holdpoint(home, 'ada', 'chain', call.id)).stdout);
  }
  const checked = await until('the stream to come to rest', async () => {
    const said = await holdpoint(home, 'ada', '--json', 'check', '--settled');
    return said.code === 0 ? (JSON.parse(said.stdout) as { counts: Record<string, number> }) : undefined;
  });
  say('`check` read the stream alone and found nothing wrong.');
  return count(checked.counts);
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

async function run(stage: Stage, prompt: string, conversationId?: string): Promise<RunView> {
  const where = conversationId === undefined ? [] : ['--conversation', conversationId];
  const said = await holdpointJson<RunView | { run: RunView }>(stage.home, 'ada', 'run', 'assistant', prompt, ...where);
  return 'run' in said ? said.run : said;
}

async function onlyPending(staging: Api): Promise<ApprovalView> {
  const { items } = await staging.get('/v1/approvals?status=pending', page(z.object({ id: z.string() })));
  assert.equal(items.length, 1, 'exactly one call is held');
  return staging.get(`/v1/approvals/${items[0]?.id}`, approvalView);
}

async function decide(
  stage: Stage,
  call: ApprovalView,
  decision: 'approve' | 'reject',
  reason?: string,
): Promise<void> {
  const ref = `${call.spaceId}#${call.number}`;
  const command = [decision, ref, ...(reason === undefined ? [] : ['--reason', reason])];
  if (stage.decide === 'person') {
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    say(`Your turn, as Ben. The story goes on with: ${decision} ${ref}`);
    while ((await terminal.question(`    type ${decision} and press Enter: `)).trim() !== decision)
      console.log(`    The story needs ${decision} here; nothing was decided.`);
    terminal.close();
  }
  say(`Ben decides: holdpoint ${command.join(' ')}`);
  await holdpointJson(stage.home, 'ben', ...command, '--digest', call.digest);
}

/** The wake-up that follows a decision, once the agent has dealt with it. */
async function woken(stage: Stage, call: ApprovalView): Promise<TaskView> {
  const board = new Api({ url: stage.urls.taskboard, token: stage.people['ada'] ?? '' });
  return until(`the wake-up after ${call.spaceId}#${call.number}`, async () => {
    const { items } = await board.get(`/v1/tasks?call=${call.id}`, page(taskView));
    return items.find((t) => t.state === 'done');
  });
}

async function outbox(home: string): Promise<Buffer[]> {
  const folder = join(home, 'demo', 'outbox');
  const names = (await readdir(folder)).filter((n) => n.endsWith('.eml')).sort();
  return Promise.all(names.map((n) => readFile(join(folder, n))));
}
