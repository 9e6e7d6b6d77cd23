import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventData, EventType, HoldpointEvent, SpacePolicyAudit, SpacePolicyView } from '@holdpoint/contracts';
import { Api, until } from './api.js';
import { holdpoint, holdpointJson } from './holdpoint.js';
import { run, type Stage, say, show } from './story.js';

type OptInStage = Pick<Stage, 'home' | 'people'> & { urls: { policy: string }; workspace: string };

const ACTION = 'FileRW.purge_folder';
const FILES = ['january.txt', 'february.txt', 'march.txt'];

/**
 * A space decides what its agents may destroy (seed 001): what nobody allowed is refused; the owner allows it and says that
 * it cannot be undone; it runs without asking anybody; revoked, it is refused again.
 * @returns what really happened, counted from the files on the disk and the events in the stream
 * @throws at the first thing that is not as promised
 */
export async function playOptIn(stage: OptInStage) {
  const { home } = stage;
  const archive = join(stage.workspace, 'archive', '2023');
  await mkdir(archive, { recursive: true });
  for (const name of FILES) await writeFile(join(archive, name), 'A month that is over.\n');
  const purge = async () => {
    const { id, result } = await run(stage, 'Please purge the folder archive/2023 for good.');
    show(result ?? '');
    return endOf(home, id);
  };
  const policyNow = async () => show((await holdpoint(home, 'ada', 'policy', 'show')).stdout.trimEnd());

  say('Nobody has allowed it. Ada asks the assistant to purge a folder all the same:');
  const first = await purge();
  assert.deepEqual(first, { verdict: 'deny', reason: 'destructive-not-allowed', status: 'Denied', started: false });
  assert.deepEqual(await namesIn(archive), FILES.toSorted(), 'every file is still there');
  await policyNow();

  say('Mia, a member, may not allow it, and nobody may in passing, without saying that it cannot be undone:');
  const asMia = await holdpoint(home, 'mia', 'policy', 'allow', ACTION, '--acknowledge');
  assert.equal(asMia.code, 1, 'a member opted in');
  show(asMia.stderr.trim());
  const policy = new Api({ url: stage.urls.policy, token: stage.people['ada'] ?? '' });
  const hasty = await policy.ask('PUT', '/api/v1/spaces/acme/policy', { allowDestructive: [ACTION] });
  assert.equal(hasty.status, 400, 'opted in without an acknowledgement');

  say(`Ada, the owner, allows it: holdpoint policy allow ${ACTION} --acknowledge`);
  await holdpointJson<SpacePolicyView>(home, 'ada', 'policy', 'allow', ACTION, '--acknowledge');
  await policyNow();
  const second = await purge();
  assert.deepEqual(second, { verdict: 'auto', reason: 'default', status: 'Ok', started: true });
  const left = await namesIn(archive);
  assert.deepEqual(left, [], 'the folder is gone');
  say(`The folder is gone: ${FILES.length} files before, ${left.length} now.`);

  say(`Ada takes it back: holdpoint policy revoke ${ACTION}. From now on it is refused again:`);
  await holdpointJson<SpacePolicyView>(home, 'ada', 'policy', 'revoke', ACTION);
  await mkdir(archive, { recursive: true });
  await writeFile(join(archive, 'april.txt'), 'A month that is not over.\n');
  const third = await purge();
  assert.deepEqual(third, first, 'what was revoked is refused as before');
  assert.deepEqual(await namesIn(archive), ['april.txt'], 'the new file is still there');

  say('Who allowed what is kept for good:');
  show((await holdpoint(home, 'mia', 'policy', 'audit')).stdout.trimEnd());
  const { entries } = await holdpointJson<SpacePolicyAudit>(home, 'mia', 'policy', 'audit');
  const changes = (action: 'added' | 'removed') =>
    entries.filter((e) => e.action === action && e.actorId === 'ada').length;
  assert.equal(entries.length, 2, 'the audit tells of two changes');
  const checked = await holdpoint(home, 'ada', '--json', 'check');
  assert.equal(checked.code, 0, 'the stream keeps to its grammar');
  say('`check` read the stream alone and found nothing wrong.');

  const ended = [first, second, third];
  return {
    refused: first.status === 'Denied' ? 1 : 0,
    optedIn: changes('added'),
    executed: ended.filter((e) => e.status === 'Ok').length,
    revoked: changes('removed'),
    refusedAgain: third.status === 'Denied' ? 1 : 0,
    filesDeleted: FILES.length - left.length,
    filesKept: (await namesIn(archive)).length,
  };
}

/** What the stream says of the one call of a run, once the log has all of it. */
async function endOf(home: string, runId: string) {
  const events = await until('the end of the run in the log', async () => {
    const chain = await holdpointJson<{ events: { event: HoldpointEvent | null }[] }>(home, 'ada', 'chain', runId);
    const read = chain.events.flatMap(({ event }) => event ?? []);
    return read.some((e) => e.type === 'run.completed') ? read : undefined;
  });
  const one = <T extends EventType>(type: T): EventData<T> => {
    const found = events.filter((e) => e.type === type);
    assert.equal(found.length, 1, `one ${type}`);
    return found[0]?.data as EventData<T>;
  };
  const { verdict, reason } = one('policy.decided');
  const { status } = one('tool.executed');
  return { verdict, reason, status, started: events.some((e) => e.type === 'tool.started') };
}

const namesIn = async (folder: string): Promise<string[]> =>
  (
    await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    })
  ).sort();
