import { type EventData, type HoldpointEvent, problem } from '@holdpoint/contracts';
import { newEvent } from '@holdpoint/eventing';
import { eventually, testIssuer } from '@holdpoint/testing';
import { sql } from 'kysely';
import { openPolicy } from './fixture.js';

type Announced = EventData<'tool.announced'>;
export const actionOf = (
  name: string | null,
  hint: Announced['actions'][number]['hint'],
): Announced['actions'][number] => ({
  name,
  description: `${name} of it`,
  hint,
  scope: 'user',
  executionClass: 'at-most-once',
});

/** The tools of the spaces: three destructive actions and others. */
const TOOLS: Record<string, Partial<Announced>> = {
  filerw: {
    server: 'builtin',
    tool: 'FileRW',
    origin: 'builtin',
    affectedData: 'Files and folders of the agent',
    actions: [actionOf('purge_folder', 'destructive'), actionOf('delete', 'write'), actionOf('read', 'read')],
  },
  mail: {
    server: 'builtin',
    tool: 'Mail',
    origin: 'builtin',
    actions: [actionOf('send', 'write'), actionOf('expunge', 'destructive')],
  },
  drop: { server: 'git', tool: 'repo.drop', origin: 'foreign', actions: [actionOf(null, 'destructive')] },
};
export const DESTRUCTIVE = ['FileRW.purge_folder', 'Mail.expunge', 'git/repo%2Edrop'];

/** The service, an issuer of people, and spaces: `ada` owns them, `ben` is admin, `mia` a member, `otto` a stranger. */
export async function openSpaces(env: Record<string, string> = {}) {
  const [fixture, issuer] = await Promise.all([openPolicy(), testIssuer()]);
  const settings = { OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: issuer.audience, CHECK_VALID_MS: '100', ...env };
  const instances = [await fixture.start({ env: settings })];
  let next = 0;

  const askAt = async (
    url: string,
    as: string,
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ) => {
    const service = Object.hasOwn(fixture.tokens, as) ? fixture.tokens[as as 'staging'] : undefined;
    const authorization = as === '' ? {} : { authorization: `Bearer ${service ?? (await issuer.token(as))}` };
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...authorization, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };

  type Asking = Parameters<typeof askAt> extends [string, ...infer Rest] ? Rest : never;
  /** Asks the instances in turn. */
  const ask = (...asking: Asking) => askAt(instances[next++ % instances.length]?.url as string, ...asking);

  const announce = async (spaceId: string, entityId: string, more: Partial<Announced> = {}) => {
    const { seq } = await fixture.publisher.publish(
      newEvent('tool.announced', {
        spaceId,
        entityId,
        data: {
          server: 'builtin',
          tool: entityId,
          origin: 'builtin',
          description: `What ${entityId} does`,
          affectedData: null,
          schemaDigest: 'a'.repeat(64),
          agents: ['assistant', 'cleaner'],
          actions: [],
          withdrawn: false,
          ...TOOLS[entityId],
          ...more,
        },
      }),
    );
    await eventually(() =>
      fixture.db.selectFrom('tools').select('tool').where('stream_seq', '=', seq).executeTakeFirst(),
    );
  };

  return {
    ...fixture,
    ask,
    askAt,
    settings,
    /** A person's token. */
    access: (person: string) => issuer.token(person),
    /** Of the first instance. */
    url0: instances[0]?.url as string,
    announce,
    /** Ends every instance; the stores stay. */
    stop: () => Promise.all(instances.map((i) => i.close())),
    another: async () => instances.push(await fixture.start({ env: settings })),
    found: async (spaceId: string) => {
      const members = [
        { userId: 'ben', displayName: 'Ben', role: 'admin' },
        { userId: 'mia', displayName: 'Mia', role: 'member', groups: ['risk'] },
      ];
      await ask('ada', 'POST', '/api/v1/spaces', { spaceId, name: 'Acme GmbH', members });
      await Promise.all(Object.keys(TOOLS).map((tool) => announce(spaceId, tool)));
    },
    /** What was told of the space's policy, in order, once all of it is in the stream. */
    told: (spaceId: string) =>
      eventually(async () => {
        const { rows } = await sql<{ body: string; seq: number | null }>`
          SELECT body, seq::int FROM policy.outbox WHERE entity = ${`${spaceId}.${spaceId}`} ORDER BY id`.execute(
          fixture.db,
        );
        if (rows.some((r) => r.seq === null)) return undefined;
        const all = rows.map((r) => JSON.parse(r.body) as HoldpointEvent);
        return all.filter((e) => e.type === 'policy.changed');
      }),
    codeOf: ({ status, body }: { status: number; body: unknown }) => `${status} ${problem.parse(body).code}`,
    close: async () => {
      await fixture.close();
      await issuer.stop();
    },
  };
}
export type SpacesFixture = Awaited<ReturnType<typeof openSpaces>>;
