import type { Provenance } from '@holdpoint/contracts';
import type { Transaction } from 'kysely';
import type { Words } from '../domain/words.js';
import type { Database } from '../store/schema.js';

/** What the gate must know of the run that a call belongs to: stamped by the engine, never taken from a tool or a model. */
export interface GateRun {
  runId: string;
  spaceId: string;
  provenance: Provenance;
  /** Names of the tools assigned to the agent. */
  tools: readonly string[];
  /** In the agent's language. */
  words: Words;
  /** Aborted when the run is cancelled. */
  signal: AbortSignal;
  /** Whether this engine still owns the run; holds until the transaction ends, so that a lost run claims nothing. */
  stillMine: (tx: Transaction<Database>) => Promise<boolean>;
  /** The event for which its calls are proposed, where there is one. */
  causationId?: string;
}
