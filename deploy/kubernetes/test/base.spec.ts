import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/provision';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { z } from 'zod';
import { engineConfig } from '../../../services/agent-engine/src/config.js';
import { auditConfig } from '../../../services/audit/src/config.js';
import { policyConfig } from '../../../services/policy/src/config.js';
import { stagingConfig } from '../../../services/staging/src/config.js';
import { taskboardConfig } from '../../../services/taskboard/src/config.js';
import { provisionConfig } from '../../provision/src/settings.js';
import {
  environmentOf,
  filesOf,
  type Manifest,
  makeSecrets,
  type PodSpec,
  pods,
  renderBase,
  TOOLS,
} from './manifests.js';

const SCHEMAS: Record<string, z.ZodObject> = {
  'holdpoint-agent-engine': engineConfig,
  'holdpoint-audit': auditConfig,
  'holdpoint-policy': policyConfig,
  'holdpoint-provision': provisionConfig,
  'holdpoint-staging': stagingConfig,
  'holdpoint-taskboard': taskboardConfig,
};
const ADMIN = 'postgres://chief:secret@database.example/holdpoint?sslmode=verify-full';
let dir: string;
let base: Manifest[];
let secrets: Manifest[];

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdpoint-'));
  base = renderBase();
  secrets = makeSecrets(dir, ADMIN);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** What a program of ours would say of the environment that its pod gives it, and what that pod refers to and nobody has. */
function faultsOf(pod: { name: string; spec: PodSpec }, all: Manifest[]): string[] {
  const schema = SCHEMAS[pod.name];
  const container = pod.spec.containers[0];
  if (!schema || !container) return [`${pod.name}: unknown`];
  try {
    const environment = environmentOf(container, all);
    const files = filesOf(container, pod.spec, all);
    const given = Object.entries(environment).filter(([, value]) => value !== '');
    const parsed = schema.safeParse(Object.fromEntries(given));
    return [
      ...(parsed.error?.issues ?? []).map((i) => `${i.path.join('.')}: ${i.message}`),
      ...given.flatMap(([name]) => (name in schema.shape ? [] : [`${name}: nobody reads it`])),
      ...given.flatMap(([name, value]) =>
        /_FILE$|^HOLDPOINT_CONFIG$/.test(name) && !(value in files) ? [`${name}: nothing is mounted at ${value}`] : [],
      ),
    ];
  } catch (err) {
    return [(err as Error).message];
  }
}
const podOf = (all: Manifest[], name: string) =>
  pods(all).find((p) => p.name === name) as { name: string; spec: PodSpec };

test('there are all services, the provisioner and the bus, in one namespace', () => {
  expect(
    pods(base)
      .map((p) => `${p.kind} ${p.name}`)
      .sort(),
  ).toEqual([
    ...SERVICES.map((s) => `Deployment holdpoint-${s}`).sort(),
    'Job holdpoint-provision',
    'StatefulSet holdpoint-nats',
  ]);
  expect(new Set(base.map((m) => m.metadata.namespace))).toEqual(new Set(['holdpoint']));
  const labels = base.flatMap((m) => (m.spec?.template ? [m.spec.template.metadata.labels] : []));
  for (const { metadata, spec } of base.filter((m) => m.kind === 'Service'))
    expect([
      metadata.name,
      labels.filter((l) => Object.entries(spec?.selector ?? {}).every(([k, v]) => l[k] === v)).length,
    ]).toEqual([metadata.name, 1]);
});

test('every program gets each setting that it needs, none that it does not know, and each file that a setting names', () => {
  const all = [...base, ...secrets, TOOLS];
  for (const pod of pods(base))
    if (pod.kind !== 'StatefulSet') expect([pod.name, faultsOf(pod, all)]).toEqual([pod.name, []]);
  for (const service of SERVICES)
    expect(podOf(base, `holdpoint-${service}`).spec.containers[0]?.args).toEqual([
      `services/${service}/dist/src/main.js`,
    ]);
});

test('what is missing, unknown or not mounted is found', () => {
  const all = [...base, ...secrets, TOOLS];
  const changed = (name: string, change: (pod: { spec: PodSpec }) => void) => {
    const pod = structuredClone(podOf(base, name));
    change(pod);
    return faultsOf(pod, all);
  };
  const env = (pod: { spec: PodSpec }) => pod.spec.containers[0]?.env ?? [];
  for (const variable of ['NATS_PASSWORD', 'DECISIONS_DATABASE_URL', 'PORT', 'HOLDPOINT_IDENTITY_FILE'])
    expect(
      changed('holdpoint-policy', (pod) => {
        env(pod).splice(
          env(pod).findIndex((e) => e.name === variable),
          1,
        );
      }),
    ).toEqual([expect.stringContaining(`${variable}: `)]);
  expect(changed('holdpoint-audit', (pod) => env(pod).push({ name: 'AUDIT_BATCH', value: '1' }))).toEqual([
    'AUDIT_BATCH: nobody reads it',
  ]);
  expect(changed('holdpoint-staging', (pod) => pod.spec.containers[0]?.volumeMounts?.shift())).toEqual([
    expect.stringContaining('HOLDPOINT_IDENTITY_FILE: nothing is mounted'),
  ]);
  expect(faultsOf(podOf(base, 'holdpoint-audit'), base)).toEqual(['there is no Secret holdpoint-audit']);
});

test('each service has its own secrets and no other one’s', () => {
  const everything = new Map<string, string>();
  for (const service of SERVICES) {
    const pod = podOf(base, `holdpoint-${service}`);
    const refs = (pod.spec.containers[0]?.env ?? []).flatMap((e) => e.valueFrom?.secretKeyRef?.name ?? []);
    expect(new Set(refs)).toEqual(new Set([`holdpoint-${service}`]));
    const {
      DATABASE_URL = '',
      NATS_PASSWORD = '',
      HOLDPOINT_SERVICE_TOKEN = '',
    } = environmentOf(pod.spec.containers[0] as PodSpec['containers'][0], [...base, ...secrets, TOOLS]);
    expect(DATABASE_URL).toMatch(
      new RegExp(
        `^postgres://hp_${service.replaceAll('-', '_')}:[^@]+@database.example/holdpoint\\?sslmode=verify-full$`,
      ),
    );
    for (const secret of [DATABASE_URL, NATS_PASSWORD, HOLDPOINT_SERVICE_TOKEN]) everything.set(secret, service);
  }
  expect(everything.size).toBe(3 * SERVICES.length);
  const engineAlone = pods(base).filter((p) => JSON.stringify(p.spec).includes('holdpoint-tools'));
  expect(engineAlone.map((p) => p.name)).toEqual(['holdpoint-agent-engine']);
});

test('made again, no secret changes', () => {
  expect(makeSecrets(dir, ADMIN)).toEqual(secrets);
});

test('the servers of the bus are told the names and ports that they have', () => {
  const nats = base.find((m) => m.kind === 'StatefulSet');
  const config = JSON.parse(secrets.find((m) => m.metadata.name === 'holdpoint-nats')?.stringData?.['nats.conf'] ?? '');
  const hosts = Array.from(
    { length: nats?.spec?.replicas ?? 0 },
    (_, n) => `${nats?.metadata.name}-${n}.${nats?.spec?.serviceName}:6222`,
  );
  expect(config.cluster.routes.map((route: string) => new URL(route).host)).toEqual(hosts);
  expect(config).toMatchObject({ host: '0.0.0.0', port: 4222, http_port: 8222 });
  expect(config.jetstream).toEqual({ store_dir: '/data', sync_interval: 'always' });
  expect(pods(base).find((p) => p.kind === 'StatefulSet')?.spec.containers[0]?.volumeMounts).toContainEqual({
    name: 'data',
    mountPath: '/data',
  });
});

test('no program runs as root, may become it, or may write where its program lies', () => {
  for (const { name, spec } of pods(base)) {
    expect([name, spec]).toMatchObject([
      name,
      {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      },
    ]);
    for (const { securityContext } of spec.containers)
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
  }
});
