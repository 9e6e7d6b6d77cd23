import { freePort, isFree } from '@holdpoint/provision';
import type { Settings } from './settings.js';

const DEFAULTS = {
  engine: 4101,
  policy: 4102,
  staging: 4103,
  taskboard: 4104,
  audit: 4105,
  issuer: 4106,
  smtp: 4125,
  postgres: 4132,
  nats: 4122,
  traces: 4118,
} as const;

export type Endpoint = keyof typeof DEFAULTS;
export type Ports = Record<Endpoint, number>;

/**
 * A port for everything that listens: the one asked for, else the default, else the next free one after it.
 * @throws when a port that was asked for is taken
 */
export async function choosePorts(settings: Settings, say: (line: string) => void): Promise<Ports> {
  const taken = new Set<number>(Object.values(settings.ports).map(Number));
  const chosen: Partial<Ports> = {};
  for (const [endpoint, preferred] of Object.entries(DEFAULTS) as [Endpoint, number][]) {
    if (endpoint === 'traces' && !settings.traces) continue;
    if (endpoint === 'nats' && settings.natsUrl !== undefined) continue;
    const variable = `HOLDPOINT_${endpoint.toUpperCase()}_PORT`;
    const asked = settings.ports[variable];
    if (asked && !(await isFree(asked)))
      throw new Error(`port ${asked} is taken: give another one in ${variable}, or end what listens there`);
    const port = asked ?? (await (settings.freePorts ? anyFree(taken) : nextFree(preferred, taken)));
    if (!asked && !settings.freePorts && port !== preferred)
      say(`port ${preferred} is taken: ${endpoint} listens on ${port} (${variable} chooses another)`);
    taken.add(port);
    chosen[endpoint] = port;
  }
  return chosen as Ports;
}

async function nextFree(preferred: number, taken: Set<number>): Promise<number> {
  const reserved = new Set<number>(Object.values(DEFAULTS));
  for (let port = preferred; ; port++) {
    if (taken.has(port) || (port !== preferred && reserved.has(port))) continue;
    if (await isFree(port)) return port;
  }
}

async function anyFree(taken: Set<number>): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (!taken.has(port)) return port;
  }
}
