import type { HaltRequest, HaltView, Identity } from '@holdpoint/contracts';
import { newId } from '@holdpoint/eventing';
import { requirePerson } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import type { Changing, PolicyChanges } from './policy-changes.js';
import * as refusal from './refusals.js';
import { roleIn } from './role-in.js';
import { asUser } from './store/as-user.js';
import { type HaltRow, type HaltsQuery, halts, haltViewOf } from './store/halts.js';
import { registry } from './store/registry.js';
import type { PolicyDatabase } from './store/schema.js';

/** Stops calls of an agent, a space or everything until it is lifted, and undoes nothing. */
export class Halts {
  constructor(
    private readonly db: Kysely<PolicyDatabase>,
    private readonly changes: PolicyChanges,
    /** Who may halt everything. */
    private readonly operators: readonly string[],
  ) {}

  /** Newest first: those of the asker's spaces, and of everything. */
  list(who: Identity, query: HaltsQuery): Promise<HaltView[]> {
    requirePerson(who);
    return asUser(this.db, who.id, async (tx) => {
      if (query.spaceId !== undefined) await roleIn(tx, who, query.spaceId);
      return (await halts.list(tx, query)).map(haltViewOf);
    });
  }

  /** Once it is answered, no call that it covers is claimed any more. @throws Refusal */
  set(who: Identity, { scope, spaceId, agent, reason }: HaltRequest): Promise<HaltView> {
    return this.#change(who, spaceId ?? null, async ({ tx, tell }) => {
      if (spaceId !== undefined && agent !== undefined) await requireAgent(tx, spaceId, agent);
      const id = newId();
      const halt = { id, scope, agent: agent ?? null, reason };
      const { at } = await tell({ what: 'halt', added: [], removed: [], halt: { ...halt, lifted: false } });
      const row: HaltRow = {
        halt_id: id,
        scope,
        space_id: spaceId ?? null,
        agent: agent ?? null,
        reason,
        set_by: who.id,
        set_at: at,
        lifted_by: null,
        lifted_at: null,
      };
      await halts.add(tx, row);
      return { value: haltViewOf(row), tightens: true };
    });
  }

  /** @throws Refusal `policy.halt-lifted` with who lifted it and when */
  async lift(who: Identity, id: string): Promise<HaltView> {
    requirePerson(who);
    const found = await asUser(this.db, who.id, (tx) => halts.find(tx, id));
    if (found === undefined) throw refusal.noSuchHalt();
    return this.#change(who, found.space_id, async ({ tx, tell }) => {
      const row = await halts.find(tx, id);
      if (row === undefined) throw refusal.noSuchHalt();
      if (row.lifted_at !== null) throw refusal.liftedBefore(haltViewOf(row));
      const { scope, agent, reason } = row;
      const { at } = await tell(
        { what: 'halt', added: [], removed: [], halt: { id, scope, agent, reason, lifted: true } },
        row.set_at,
      );
      const lifted = { lifted_by: who.id, lifted_at: at };
      await halts.lift(tx, id, lifted);
      return { value: haltViewOf({ ...row, ...lifted }), tightens: false };
    });
  }

  async #change(
    who: Identity,
    spaceId: string | null,
    work: (changing: Changing) => Promise<{ value: HaltView; tightens: boolean }>,
  ): Promise<HaltView> {
    requirePerson(who);
    if (spaceId !== null) return this.changes.ofSpace(who, spaceId, work);
    if (!this.operators.includes(who.id)) throw refusal.operatorsOnly();
    return this.changes.ofEverySpace(who, work);
  }
}

/** A halt of a name that no agent has would stop nothing. Before anything was announced nobody knows the agents. */
async function requireAgent(tx: Transaction<PolicyDatabase>, spaceId: string, agent: string): Promise<void> {
  const tools = await registry.list(tx, spaceId);
  const agents = [...new Set(tools.flatMap((t) => t.agents))];
  if (tools.length > 0 && !agents.includes(agent)) throw refusal.unknownAgent(agent);
}
