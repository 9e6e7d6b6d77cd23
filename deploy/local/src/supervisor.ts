import { join } from 'node:path';
import { type PolicyMode, policyMode } from '@holdpoint/contracts';
import { DATABASE_NAME, readConsumers, serverVersion, verifyImports } from '@holdpoint/provision';
import { serviceClient } from '@holdpoint/runtime';
import { z } from 'zod';
import { announcement } from './announcement.js';
import { Child, runOnce } from './child.js';
import { childEnvironment } from './child-environment.js';
import { type ClientFile, writeClientFile } from './client-file.js';
import { writeConsumerFiles } from './consumer-files.js';
import { seedDemoData } from './demo-data.js';
import { type Home, openHome } from './home.js';
import { writeIdentities } from './identities.js';
import { busUrl, useOwnBus, withPasswords } from './own-bus.js';
import { PEOPLE } from './people.js';
import { choosePorts } from './ports.js';
import { whenReady } from './readiness.js';
import { program } from './repository.js';
import { claim, endOrphans, forget, SUPERVISOR } from './run-records.js';
import { secretVariables } from './secret-variables.js';
import { loadSecrets } from './secrets.js';
import { databaseOf, instancesOf, servicePrograms } from './services.js';
import type { Settings } from './settings.js';
import { seedSpaces } from './spaces.js';

const TOKENS_RENEWED_MS = 24 * 3_600_000;

/**
 * Runs the whole system on this machine until `signal` aborts, then stops it in order: services, then the bus and the
 * database. Announces itself with a line that begins with `ready`.
 * @throws what hindered it from starting, after stopping what had been started
 */
export async function supervise(settings: Settings, say: (line: string) => void, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  const consumers = readConsumers(settings.config);
  const database = databaseOf(settings);
  const { natsUrl } = settings;
  const server = await serverVersion(settings.natsServer).catch((err: Error) => {
    if (natsUrl === undefined) throw err;
    return undefined;
  });
  const home = await openHome(settings.home);
  await claim(home.run);
  const guards: Child[] = [];
  const others: Child[] = [];
  let renewal: NodeJS.Timeout | undefined;
  try {
    const orphans = await endOrphans(home.run);
    if (orphans.length > 0) say(`ended what an earlier start had left running: ${orphans.join(', ')}`);
    if (server && !server.canSyncAlways)
      say(
        `nats-server ${server.text} cannot sync each message to disk before it acknowledges it: a crash of this machine may lose the last ones. Fine for a trial; use 2.10 or newer otherwise.`,
      );
    const ports = await choosePorts(settings, say);
    const secrets = await loadSecrets(
      home,
      PEOPLE.map((p) => p.id),
      consumers.map((c) => c.name),
    );
    const ignored = await writeIdentities(home, secrets);
    if (ignored.length > 0)
      say(
        `${home.identities} names people (${ignored.join(', ')}): they are not looked for there any more, people sign in at an issuer`,
      );
    await seedDemoData(home);
    signal.throwIfAborted();

    const common = { home, say, withheld: secretVariables(settings.config) };
    const own = (name: string, main: string, own: unknown) => ({
      ...common,
      name,
      script: program(`${main}.main.js`),
      env: childEnvironment(own),
    });
    const embedded = () =>
      new Child(
        own('postgres-guard', 'postgres', {
          run: home.run,
          dir: home.postgres,
          port: ports.postgres,
          password: secrets.superuser,
          logFile: join(home.logs, 'postgres.log'),
        }),
      );
    const postgres = settings.databaseUrl === undefined ? embedded() : undefined;
    const passwords = secrets.bus;
    const foreign = withPasswords(consumers, secrets);
    const ownBus = () =>
      useOwnBus({
        ...{ natsUrl: natsUrl as string, settings, home, passwords, consumers: foreign, say, signal },
        syncAlways: server?.canSyncAlways ?? true,
      });
    const embeddedBus = () =>
      new Child(
        own('nats-guard', 'nats', {
          run: home.run,
          dir: home.nats,
          port: ports.nats,
          passwords,
          consumers: foreign,
          binary: settings.natsServer,
          logFile: join(home.logs, 'nats.log'),
        }),
      );
    const nats = natsUrl === undefined ? embeddedBus() : undefined;
    guards.push(...[postgres, nats].filter((guard) => guard !== undefined));
    const smtp = new Child(own('smtp', 'smtp', { port: ports.smtp, outbox: home.outbox }));
    const issuer = new Child(
      own('issuer', 'issuer', {
        port: ports.issuer,
        keyFile: home.issuerKey,
        people: PEOPLE.map(({ id, name }) => ({ id, name, secret: secrets.people[id] })),
      }),
    );
    others.push(smtp, issuer);
    const traces = settings.traces ? [new Child(own('traces', 'traces', { port: ports.traces }))] : [];
    others.push(...traces);

    const superuserUrl =
      settings.databaseUrl ?? `postgres://postgres:${secrets.superuser}@127.0.0.1:${ports.postgres}/postgres`;
    const tools = settings.databaseUrl !== undefined && process.env['DATABASE_TOOL_URL'] ? {} : { demo: secrets.demo };
    const roles = { superuserUrl, database, passwords: secrets.database, ...tools };
    const migrated = Promise.resolve(postgres?.ready).then(() => runOnce(own('migrate', 'migrate', roles), signal));
    const bus = busUrl(settings, ports);
    const provisioned = (nats ? nats.ready : ownBus()).then(() =>
      runOnce(
        own('provision', 'provision', {
          servers: bus,
          password: secrets.bus.hub,
          ackWaitMs: settings.ackWaitMs,
          consumers,
        }),
        signal,
      ),
    );
    say('starting the database and the bus');
    const servers = [smtp, issuer, ...traces].map((child) => child.ready);
    await unlessAborted(signal, Promise.all([migrated, provisioned, ...servers]));
    if (!nats) await verifyImports({ servers: bus, passwords });

    if (settings.serversOnly) {
      say(forRecovery(home, superuserUrl, database ?? DATABASE_NAME, bus));
      return await aborted(signal);
    }
    const client = await writeClientFile(home, ports, secrets, bus);
    const consumerFiles = await writeConsumerFiles(home, client.nats.url, consumers, secrets);
    renewal = setInterval(
      () =>
        writeClientFile(home, ports, secrets, bus).catch((err: Error) => say(`tokens are not renewed: ${err.message}`)),
      TOKENS_RENEWED_MS,
    );
    const programs = await instancesOf(servicePrograms(settings, home, secrets, ports), settings.instances);
    say('starting the services');
    const services = programs.map((p) => new Child({ ...common, ...p }));
    others.push(...services);
    const answering = Promise.all(programs.map((p) => whenReady(p.name, p.url, signal)));
    await unlessAborted(signal, Promise.race([answering, ...[...services, ...guards].map((c) => c.crashLoop)]));

    await unlessAborted(signal, seedSpaces(client));
    const mode = await policyModeOf(client);
    say(announcement({ home, settings, client, consumerFiles, ports, mode }));
    say(`ready in ${((performance.now() - began) / 1000).toFixed(1)} s. Ctrl-C stops everything.`);
    await aborted(signal);
  } catch (err) {
    if (!signal.aborted) throw err;
  } finally {
    clearInterval(renewal);
    if (others.length > 0) say('stopping');
    await Promise.all(others.map((c) => c.stop(15_000)));
    await Promise.all(guards.map((c) => c.stop(40_000)));
    await forget(home.run, SUPERVISOR);
  }
}

/** As policy itself says; undefined when it does not answer. */
async function policyModeOf({ urls, people }: ClientFile): Promise<PolicyMode | undefined> {
  const policy = serviceClient({ baseUrl: urls.policy, token: Object.values(people)[0] ?? '', timeoutMs: 5_000 });
  const rules = await policy.get('/v1/policy/rules', z.object({ mode: policyMode })).catch(() => undefined);
  return rules?.mode;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const unlessAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  Promise.race([work, aborted(signal).then(() => signal.throwIfAborted() as never)]);

/** The owner's password is in the secrets; the administrator's is not told. */
function forRecovery(home: Home, superuserUrl: string, name: string, bus: string): string {
  const url = new URL(superuserUrl);
  url.username = '';
  url.password = '';
  url.pathname = `/${name}`;
  return `ready: database and bus alone, no service runs. In another terminal:
  export DATABASE_URL=${url.href} NATS_URL=${bus} HOLDPOINT_SECRETS_FILE=${home.secrets}
  npm run recover -- reconcile
Ctrl-C stops both.`;
}
