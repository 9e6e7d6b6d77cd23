import type { Identity } from '@holdpoint/contracts';
import { DATABASE, Refusal, requirePerson, Who } from '@holdpoint/runtime';
import { Controller, Get, Inject, Query } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { base64, checkpointOf } from '../log/export.js';
import { sha256 } from '../log/sha256.js';
import { TreeAt } from '../log/tree-at.js';
import type { Database } from '../store/schema.js';
import { leavesOf } from '../store/tree-tiles.js';
import { requireCheckpoint } from './checkpoints.controller.js';
import { type ConsistencyQuery, consistencyQuery, type InclusionQuery, inclusionQuery } from './query.js';

/** Hashes only: whoever is signed in may have them. Proofs lead to checkpoints, so that something signed stands at their end. */
@Controller('v1/audit/proofs')
export class ProofsController {
  constructor(@Inject(DATABASE) private readonly db: Kysely<Database>) {}

  /** That the event of this sequence is in the log that the checkpoint of `size` (default: the latest) signs. */
  @Get('inclusion')
  async inclusion(@Query({ schema: inclusionQuery }) query: InclusionQuery, @Who() who: Identity) {
    requirePerson(who);
    const { size, note } = await requireCheckpoint(this.db, query.size);
    const { firstSeq } = checkpointOf({ note });
    const index = query.seq - firstSeq;
    if (index < 0 || index >= size)
      throw new Refusal(
        'not-found',
        'audit.not-covered',
        `The checkpoint covers sequences ${firstSeq} to ${firstSeq + size - 1}; a later event is covered within moments.`,
      );
    const [leaf] = await leavesOf(this.db, sha256, query.seq, query.seq + 1);
    if (leaf === undefined) throw new Error(`the log lacks sequence ${query.seq}`);
    const proof = await new TreeAt(this.db, size, firstSeq).inclusion(index);
    return { seq: query.seq, index, size, leafHash: base64(leaf), proof: proof.map(base64), checkpoint: note };
  }

  /** That the log of `to` events (default: the latest checkpoint's) grew out of the one of `from` events. */
  @Get('consistency')
  async consistency(@Query({ schema: consistencyQuery }) query: ConsistencyQuery, @Who() who: Identity) {
    requirePerson(who);
    const { size, note } = await requireCheckpoint(this.db, query.to);
    if (query.from > size)
      throw new Refusal(
        'invalid',
        'audit.not-covered',
        `The log has ${size} events under this checkpoint; one of ${query.from} cannot have come before. If you hold such a checkpoint, the log was cut.`,
      );
    const proof = await new TreeAt(this.db, size, checkpointOf({ note }).firstSeq).consistency(query.from);
    return { from: query.from, to: size, proof: proof.map(base64), checkpoint: note };
  }
}
