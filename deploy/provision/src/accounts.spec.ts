import { CHECKPOINT_SUBJECTS, STREAM_SUBJECTS, topology } from '@holdpoint/contracts';
import { expect, test } from '@jest/globals';
import { BUS_USERS, type BusUser, renderBusConfig } from './accounts.js';
import { accountOf, SERVICES } from './names.js';

interface Exported {
  service?: string;
  stream?: string;
  accounts: string[];
}

const passwords = Object.fromEntries(BUS_USERS.map((u) => [u, `of-${u}`])) as Record<BusUser, string>;
const render = (syncAlways: boolean) =>
  JSON.parse(renderBusConfig({ passwords, storeDir: '/data/nats', port: 4222, syncAlways }));
const exported: Exported[] = render(true).accounts.HUB.exports;
const accountsOf = (subject: string) => exported.find((e) => e.service === subject)?.accounts;

test('each subject of the stream goes to its owner alone', () => {
  for (const subject of STREAM_SUBJECTS) {
    const owner = SERVICES.find((s) => topology[s].publishes.includes(subject));
    expect(accountsOf(subject)).toEqual([owner && accountOf(owner)]);
  }
});

test('checkpoints are published by audit alone, and read besides by the checker', () => {
  for (const subject of CHECKPOINT_SUBJECTS) expect(accountsOf(subject)).toEqual(['AUDIT']);
  expect(accountsOf('$JS.API.STREAM.MSG.GET.HOLDPOINT_CHECKPOINTS')).toEqual(['AUDIT']);
  expect(accountsOf('$JS.API.DIRECT.GET.HOLDPOINT_CHECKPOINTS')).toEqual(['CHECKER']);
});

test('nothing that makes, changes or removes a stream or a consumer is handed out', () => {
  const api = exported.flatMap((e) => e.service ?? []).filter((s) => s.startsWith('$JS.API.'));
  for (const subject of api)
    expect(subject).toMatch(
      /^\$JS\.API\.(DIRECT\.GET|STREAM\.MSG\.GET|STREAM\.INFO|CONSUMER\.(MSG\.NEXT|INFO))\.HOLDPOINT/,
    );
});

test('the whole stream is read by audit and the checker; from its leader by those whom the topology names', () => {
  expect(accountsOf('$JS.API.DIRECT.GET.HOLDPOINT')).toEqual(['AUDIT', 'CHECKER']);
  expect(accountsOf('$JS.API.STREAM.MSG.GET.HOLDPOINT')).toEqual(
    SERVICES.filter((s) => topology[s].readsLeader).map(accountOf),
  );
});

test('the server listens on loopback only, and syncs each message where it can', () => {
  expect(render(true)).toMatchObject({ host: '127.0.0.1', jetstream: { sync_interval: 'always' } });
  expect(render(false).jetstream).toEqual({ store_dir: '/data/nats' });
});
