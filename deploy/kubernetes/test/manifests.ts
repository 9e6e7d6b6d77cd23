import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

interface KeyRef {
  name: string;
  key: string;
}
interface Source {
  name: string;
}
export interface Container {
  name: string;
  image: string;
  args?: string[];
  env?: {
    name: string;
    value?: string;
    valueFrom?: { secretKeyRef?: KeyRef; configMapKeyRef?: KeyRef; fieldRef?: { fieldPath: string } };
  }[];
  envFrom?: { configMapRef?: Source; secretRef?: Source }[];
  volumeMounts?: { name: string; mountPath: string }[];
  livenessProbe?: { httpGet: { path: string } };
  readinessProbe?: { httpGet: { path: string } };
  securityContext?: object;
}
export interface PodSpec {
  containers: Container[];
  volumes?: { name: string; secret?: { secretName: string }; configMap?: Source }[];
  securityContext?: object;
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
}
export interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  spec?: {
    replicas?: number;
    serviceName?: string;
    selector?: Record<string, string> & { matchLabels?: Record<string, string> };
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec };
  };
}

const documents = (text: string): Manifest[] => parseAllDocuments(text).map((d) => d.toJS() as Manifest);

/** The base as kubectl itself renders it. */
export function renderBase(): Manifest[] {
  try {
    return documents(
      execFileSync('kubectl', ['kustomize', join(ROOT, 'deploy/kubernetes/base')], { encoding: 'utf8' }),
    );
  } catch (cause) {
    throw new Error('kubectl is missing or refuses the base: apt-get install kubernetes-client', { cause });
  }
}

/** What the program makes that an operator runs. Needs a build. */
export function makeSecrets(dir: string, databaseUrl: string, root = ROOT): Manifest[] {
  execFileSync(process.execPath, [join(root, 'deploy/provision/dist/src/secrets.main.js'), dir], {
    env: { DATABASE_URL: databaseUrl },
    stdio: 'pipe',
  });
  return documents(readFileSync(join(dir, 'secrets.yaml'), 'utf8'));
}

/** The operator's own, as the README says that it has to be. */
export const TOOLS: Manifest = {
  kind: 'Secret',
  metadata: { name: 'holdpoint-tools' },
  stringData: {
    MAIL_SMTP_URL: 'smtps://me:secret@mail.example',
    MAIL_IMAP_URL: 'imaps://me:secret@mail.example',
    ANTHROPIC_API_KEY: 'a key',
  },
};

export const pods = (all: Manifest[]): { name: string; kind: string; spec: PodSpec }[] =>
  all.flatMap(({ kind, metadata: { name }, spec }) =>
    spec?.template ? [{ name, kind, spec: spec.template.spec }] : [],
  );

/** Values of a ConfigMap or Secret. @throws when there is none of the name */
function valuesOf(all: Manifest[], kind: string, name: string): Record<string, string> {
  const found = all.find((m) => m.kind === kind && m.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found.stringData ?? found.data ?? {};
}

/** A container's environment as the kubelet makes it. @throws when something that it refers to is not there */
export function environmentOf(container: Container, all: Manifest[]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef) Object.assign(environment, valuesOf(all, 'ConfigMap', configMapRef.name));
    if (secretRef) Object.assign(environment, valuesOf(all, 'Secret', secretRef.name));
  }
  for (const { name, value, valueFrom } of container.env ?? [])
    environment[name] = valueFrom?.fieldRef ? valueFrom.fieldRef.fieldPath : (value ?? keyOf(all, valueFrom));
  return environment;
}

function keyOf(all: Manifest[], from: { secretKeyRef?: KeyRef; configMapKeyRef?: KeyRef } = {}): string {
  const [kind, ref] = from.secretKeyRef ? ['Secret', from.secretKeyRef] : ['ConfigMap', from.configMapKeyRef];
  const value = ref && valuesOf(all, kind as string, ref.name)[ref.key];
  if (value === undefined) throw new Error(`there is no ${kind} ${ref?.name} with the key ${ref?.key}`);
  return value;
}

/** What a container finds at each path that is mounted from a Secret or ConfigMap. */
export function filesOf(container: Container, { volumes = [] }: PodSpec, all: Manifest[]): Record<string, string> {
  const files: Record<string, string> = {};
  for (const { name, mountPath } of container.volumeMounts ?? []) {
    const volume = volumes.find((v) => v.name === name);
    const content = volume?.secret
      ? valuesOf(all, 'Secret', volume.secret.secretName)
      : volume?.configMap && valuesOf(all, 'ConfigMap', volume.configMap.name);
    for (const [key, text] of Object.entries(content ?? {})) files[`${mountPath}/${key}`] = text;
  }
  return files;
}
