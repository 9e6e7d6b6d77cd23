import { setTimeout as delay } from 'node:timers/promises';
import { Unavailable } from '@holdpoint/runtime';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { errors } from '@nats-io/nats-core';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';

/** JetStream's API as the account that owns the stream exports it to services; plain `$JS.API` would be their own, empty one. */
export const API_PREFIX = 'hub.API';

const REQUEST_TIMEOUT_MS = 5_000;
const DRAIN_TIMEOUT_MS = 3_000;

export interface BusOptions {
  servers: string | string[];
  user: string;
  pass: string;
  /** The service's name. */
  name: string;
  /** How long the first connection may take; once made, a connection heals itself for ever. Default 20 s. */
  connectTimeoutMs?: number;
  /** Default {@link API_PREFIX}; `$JS.API` for the account that owns the stream. */
  apiPrefix?: string;
}

/** One connection to the bus, under one service's account. Also its injection token. */
export class Bus {
  #connected = true;
  #connections = 1;
  /** Those whose answer will not come once the connection is lost. */
  readonly #inFlight = new Set<() => void>();
  /** Those who wait for the connection. */
  readonly #waiting = new Set<() => void>();

  constructor(
    readonly name: string,
    readonly nc: NatsConnection,
    readonly js: JetStreamClient,
    /** Reads only: services may touch neither streams nor consumers. */
    readonly jsm: JetStreamManager,
  ) {
    void this.#watch();
  }

  /**
   * One question to the bus. The client drops what is sent while it is not connected, so that this waits for the
   * connection first.
   * @throws Unavailable when there is none in time, or when it is lost before the answer; else whatever `send` throws
   */
  async request<T>(send: () => Promise<T>): Promise<T> {
    if (!this.#connected) await this.connected(AbortSignal.timeout(REQUEST_TIMEOUT_MS));
    if (!this.#connected) throw new Unavailable('there is no connection to the bus');
    return new Promise((resolve, reject) => {
      const lost = () => reject(new Unavailable('the connection to the bus was lost'));
      this.#inFlight.add(lost);
      void send()
        .then(resolve, reject)
        .finally(() => this.#inFlight.delete(lost));
    });
  }

  /** How often it was connected so far: what was known of the server before may not hold any more when it has grown. */
  get connections(): number {
    return this.#connections;
  }

  /** Resolves once there is a connection, or there never will be one, or `until` is aborted. */
  async connected(until: AbortSignal): Promise<void> {
    if (this.#connected || this.nc.isClosed() || until.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        until.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
        resolve();
      };
      until.addEventListener('abort', wake);
      this.#waiting.add(wake);
    });
  }

  /** Sends what is buffered, then closes for good; gives up on the sending when the server does not answer. */
  async close(): Promise<void> {
    if (this.nc.isClosed()) return;
    const late = new AbortController();
    await Promise.race([
      this.nc.drain().catch(() => undefined),
      delay(DRAIN_TIMEOUT_MS, undefined, { signal: late.signal }).catch(() => undefined),
    ]);
    late.abort();
    await this.nc.close();
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.nc.status()) {
      if (type === 'disconnect') this.#lose();
      if (type !== 'reconnect') continue;
      this.#connections += 1;
      this.#connected = true;
      for (const wake of [...this.#waiting]) wake();
    }
    this.#lose();
    for (const wake of [...this.#waiting]) wake();
  }

  #lose(): void {
    this.#connected = false;
    for (const lost of this.#inFlight) lost();
  }
}

/**
 * Connects, and keeps connected: a silent server is noticed within 6 to 9 s, reconnecting never ends, not even after a
 * refused login.
 * @throws Unavailable when no server answers in time; the server's error when it refuses the login
 */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const nc = await firstConnection(
    {
      servers: options.servers,
      user: options.user,
      pass: options.pass,
      name: options.name,
      inboxPrefix: `_INBOX_${options.name}`,
      noAsyncTraces: true,
      timeout: REQUEST_TIMEOUT_MS,
      pingInterval: 3_000,
      maxPingOut: 2,
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
      reconnectDelayHandler: () => 250 + Math.random() * 750,
    },
    options.connectTimeoutMs ?? 20_000,
  );
  const api = { apiPrefix: options.apiPrefix ?? API_PREFIX, timeout: REQUEST_TIMEOUT_MS };
  return new Bus(options.name, nc, jetstream(nc, { ...api }), await jetstreamManager(nc, { ...api, checkAPI: false }));
}

async function firstConnection(options: ConnectionOptions, timeoutMs: number): Promise<NatsConnection> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await connect(options);
    } catch (cause) {
      if (cause instanceof errors.AuthorizationError) throw cause;
      if (performance.now() >= end)
        throw new Unavailable(`no bus at ${[options.servers].flat().join(', ')}`, { cause });
      await delay(250);
    }
  }
}
