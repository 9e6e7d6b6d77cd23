import {
  type ActionTriple,
  type EventData,
  type HaltScope,
  readAction,
  type SpaceRuleView,
} from '@holdpoint/contracts';
import { sql } from 'kysely';
import type { SpaceRule } from '../domain/rules.js';
import { spaceRuleOf } from '../domain/space-rule.js';
import type { DecisionsDatabase } from './decisions-database.js';

/** A tool that the space's agents have, as announced last. Descriptions are left out: nothing is decided by them. */
export type RegisteredTool = Pick<
  EventData<'tool.announced'>,
  'server' | 'tool' | 'origin' | 'schemaDigest' | 'agents'
> & {
  actions: Pick<EventData<'tool.announced'>['actions'][number], 'name' | 'hint' | 'scope' | 'executionClass'>[];
};

/** All that a space has to say about the calls of one agent, at one moment. */
export interface SpaceRows {
  /**
   * By the database's clock, never later than the moment that the rows are of: whatever is not among them was committed
   * after it. An answer that is good for a while from here on is out of date no later than that while after any commit.
   */
  now: Date;
  /** The widest halt in force, or null. */
  halted: HaltScope | null;
  allowDestructive: ActionTriple[];
  rules: SpaceRule[];
  tools: RegisteredTool[];
  /** Whether any engine ever announced a tool of the space, withdrawn since or not. */
  announced: boolean;
  /** 0 until anything was set. */
  revision: number;
}

interface Row {
  now: Date;
  halted: HaltScope | null;
  allow_destructive: string[] | null;
  rules: SpaceRuleView[] | null;
  tools: RegisteredTool[] | null;
  announced: boolean;
  revision: number | null;
}

/** What decisions are made from besides the operator's file: the rows, read anew each time (charter, section 4). */
export class SpacePolicyReader {
  constructor(private readonly decisions: DecisionsDatabase) {}

  /** One statement, so one moment. */
  async read(spaceId: string, agent: string): Promise<SpaceRows> {
    // Outside a transaction now() is taken before the snapshot; clock_timestamp() would come after it.
    const { rows } = await sql<Row>`
      SELECT now() AS now,
        (SELECT h.scope FROM policy.halts h
          WHERE h.lifted_at IS NULL AND (h.scope = 'everything'
            OR h.space_id = ${spaceId} AND (h.scope = 'space' OR h.agent = ${agent}))
          ORDER BY array_position(ARRAY['everything', 'space', 'agent'], h.scope) LIMIT 1) AS halted,
        (SELECT p.allow_destructive FROM policy.space_policy_preferences p WHERE p.space_id = ${spaceId}) AS allow_destructive,
        (SELECT r.rules FROM policy.space_rules r WHERE r.space_id = ${spaceId}) AS rules,
        (SELECT jsonb_agg(jsonb_build_object('server', t.server, 'tool', t.tool, 'origin', t.origin,
            'schemaDigest', t.schema_digest, 'agents', t.agents, 'actions',
            (SELECT coalesce(jsonb_agg(a - 'description' ORDER BY n), '[]') FROM jsonb_array_elements(t.actions) WITH ORDINALITY e (a, n)))
            ORDER BY t.server, t.tool)
          FROM policy.tools t WHERE t.space_id = ${spaceId} AND NOT t.withdrawn) AS tools,
        EXISTS (SELECT FROM policy.tools t WHERE t.space_id = ${spaceId}) AS announced,
        (SELECT v.revision FROM policy.space_revisions v WHERE v.space_id = ${spaceId}) AS revision
    `.execute(this.decisions.db);
    const row = rows[0] as Row;
    return {
      now: row.now,
      halted: row.halted,
      allowDestructive: (row.allow_destructive ?? []).flatMap((text) => readAction(text) ?? []),
      rules: (row.rules ?? []).map(spaceRuleOf),
      tools: row.tools ?? [],
      announced: row.announced,
      revision: row.revision ?? 0,
    };
  }
}
