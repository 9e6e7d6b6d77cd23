import type { Bus } from '@holdpoint/eventing';
import type { DatabaseSession } from '@holdpoint/runtime';
import type { Kysely } from 'kysely';
import type { AuditConfig } from '../config.js';
import type { Edge } from '../domain/merkle/edge.js';
import { numberOf } from '../store/checkpoints.js';
import type { Database } from '../store/schema.js';
import { adopt } from './adopt.js';
import { Notary } from './notary.js';
import { Courier } from './outlets/courier.js';
import { FileOutlet } from './outlets/file-outlet.js';
import type { Outlet } from './outlets/outlet.js';
import { StreamOutlet } from './outlets/stream-outlet.js';
import { UrlOutlet } from './outlets/url-outlet.js';
import { SigningKey } from './signing-key.js';
import { holdAgainst, latestKept } from './standing.js';

type Settings = Pick<
  AuditConfig,
  | 'AUDIT_SIGNING_KEY_FILE'
  | 'AUDIT_PREVIOUS_KEY_FILE'
  | 'AUDIT_LOG_ORIGIN'
  | 'AUDIT_CHECKPOINT_MS'
  | 'AUDIT_CHECKPOINT_FILE'
  | 'AUDIT_CHECKPOINT_URL'
  | 'AUDIT_RETRY_MS'
>;

/** Signs the log as it grows and carries what was signed out of the database, while its session is the writer's. */
export class Checkpointing {
  #madeAt = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly notary: Notary | null,
    private readonly couriers: readonly Courier[],
    private readonly everyMs: number,
  ) {
    for (const courier of couriers) courier.poke();
  }

  /**
   * Holds everything that was signed against the log first. What was signed, and lacks in a database that was restored, is
   * taken back.
   * @throws LogHalted
   */
  static async begin(
    session: DatabaseSession<Database>,
    edge: Edge,
    { db, bus, settings }: { db: Kysely<Database>; bus: Bus; settings: Settings },
  ): Promise<Checkpointing> {
    const file = settings.AUDIT_CHECKPOINT_FILE;
    const outlets: Outlet[] = [new StreamOutlet(bus), ...(file === undefined ? [] : [new FileOutlet(file)])];
    const kept = await latestKept(session.db, outlets);
    await holdAgainst(session.db, kept);
    const couriers: Courier[] = [];
    for (const outlet of outlets) {
      const last = kept.find((k) => k.where === outlet.name);
      const number = async () => (last ? await numberOf(session.db, last.checkpoint.size, last.note) : 0);
      if ((await number()) === null) await adopt(session, outlet);
      couriers.push(new Courier(db, outlet, (await number()) ?? 0, settings.AUDIT_RETRY_MS));
    }
    const notary = await notaryOf(session, kept, edge, settings);
    const url = settings.AUDIT_CHECKPOINT_URL;
    if (url !== undefined)
      couriers.push(new Courier(db, new UrlOutlet(url), await beforeLatest(db), settings.AUDIT_RETRY_MS));
    return new Checkpointing(notary, couriers, settings.AUDIT_CHECKPOINT_MS);
  }

  /** How long until the log may be signed again; null when there is nothing to sign. */
  dueIn(edge: Edge): number | null {
    if (!this.notary?.isDue(edge)) return null;
    return Math.max(0, this.#madeAt + this.everyMs - performance.now());
  }

  async make(edge: Edge): Promise<void> {
    this.#madeAt = performance.now();
    await this.notary?.make(edge);
    for (const courier of this.couriers) courier.poke();
  }

  async end(): Promise<void> {
    await Promise.all(this.couriers.map((courier) => courier.stop()));
  }
}

async function notaryOf(
  session: DatabaseSession<Database>,
  kept: Parameters<typeof Notary.begin>[1],
  edge: Edge,
  s: Settings,
): Promise<Notary | null> {
  if (s.AUDIT_SIGNING_KEY_FILE === undefined) return null;
  return await Notary.begin(session, kept, edge, {
    key: SigningKey.fromFile(s.AUDIT_SIGNING_KEY_FILE),
    previousKey: s.AUDIT_PREVIOUS_KEY_FILE === undefined ? undefined : SigningKey.fromFile(s.AUDIT_PREVIOUS_KEY_FILE),
    origin: s.AUDIT_LOG_ORIGIN,
  });
}

/** A witness that was away is told the latest; it covers those before. */
async function beforeLatest(db: Kysely<Database>): Promise<number> {
  const row = await db
    .selectFrom('checkpoints')
    .select((e) => e.fn.max('number').as('number'))
    .executeTakeFirst();
  return Math.max(0, (row?.number ?? 0) - 1);
}
