import type { Identity } from '@holdpoint/contracts';
import {
  DATABASE,
  type Keyring,
  Refusal,
  requirePerson,
  requireRole,
  type StreamReply,
  sendStream,
  WhoNow,
} from '@holdpoint/runtime';
import { Controller, Get, Inject, Query, Res } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { type AuditConfig, CONFIG } from '../config.js';
import { checkpointOf, exportLines } from '../log/export.js';
import type { ExportFilter } from '../store/exported.js';
import { positionOf } from '../store/position.js';
import type { Database } from '../store/schema.js';
import { requireCheckpoint } from './checkpoints.controller.js';
import { type ExportQuery, exportQuery } from './query.js';

/** Injection token of the service's keyring; null when it has no master key. */
export const KEYRING: unique symbol = Symbol('audit.keyring');

@Controller('v1/audit/export')
export class ExportController {
  #exports = 0;

  constructor(
    @Inject(DATABASE) private readonly db: Kysely<Database>,
    @Inject(KEYRING) private readonly keyring: Keyring | null,
    @Inject(CONFIG) private readonly config: AuditConfig,
  ) {}

  /**
   * The log as JSON Lines with its proofs (docs/audit-log.md), as fast as the client takes them. A member exports the events
   * of their spaces, an auditor everything. Whether they may is asked before each portion.
   */
  @Get()
  async export(
    @Query({ schema: exportQuery }) query: ExportQuery,
    @WhoNow() whoNow: () => Promise<Identity>,
    @Res() reply: StreamReply,
  ): Promise<void> {
    const filter = this.#filterOf(await whoNow(), query);
    if (query.content === 'opened' && this.keyring === null)
      throw new Refusal('unavailable', 'audit.no-master-key', 'This service has no master key, so no content opens.');
    const closing = await requireCheckpoint(this.db, query.size);
    const position = await positionOf(this.db);
    if (position?.firstSeq !== checkpointOf(closing).firstSeq) throw new Error('the checkpoint is of another log');
    if (this.#exports >= this.config.AUDIT_EXPORTS_MAX)
      throw new Refusal('unavailable', 'audit.too-many-exports', 'Too many export the log now; try again later.');
    const request = {
      closing,
      filter,
      open: query.content === 'opened' && this.keyring ? { keyring: this.keyring } : null,
      after: query.after ?? null,
      known: query.known === undefined || query.known > closing.size ? null : query.known,
    };
    const mayGoOn = async () => {
      const who = await whoNow();
      this.#filterOf(who, { ...query, space: filter?.spaces });
      return { spaces: who.kind === 'person' ? Object.keys(who.spaces) : [] };
    };
    this.#exports++;
    sendStream(
      reply,
      (gone) => {
        gone.addEventListener('abort', () => this.#exports--, { once: true });
        return exportLines(this.db, request, mayGoOn);
      },
      { name: 'an export', contentType: 'application/jsonl; charset=utf-8' },
    );
  }

  /** Null for everything. @throws Refusal when they may not have it */
  #filterOf(who: Identity, { space, tool, run, from, to }: ExportQuery): ExportFilter | null {
    requirePerson(who);
    const auditor = who.kind === 'person' && this.config.AUDIT_AUDITORS.includes(who.id);
    if (!auditor) for (const one of space ?? []) requireRole(who, one);
    const own = who.kind === 'person' ? Object.keys(who.spaces).toSorted() : [];
    const spaces = space ?? (auditor ? undefined : own);
    if (spaces?.length === 0) requireRole(who, undefined);
    const filter = {
      ...(spaces && { spaces }),
      ...(tool !== undefined && { tool }),
      ...(run !== undefined && { run }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    };
    return Object.keys(filter).length === 0 ? null : filter;
  }
}
