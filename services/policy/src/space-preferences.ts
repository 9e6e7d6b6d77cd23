import { type Identity, type SetSpacePolicyRequest, type SpacePolicyView, writeAction } from '@holdpoint/contracts';
import { counter } from '@holdpoint/runtime';
import type { PolicyChanges } from './policy-changes.js';
import * as refusal from './refusals.js';
import { type AuditQuery, audits } from './store/audits.js';
import type { DecisionsDatabase } from './store/decisions-database.js';
import { preferences, preferencesViewOf } from './store/preferences.js';
import { registry, type ToolRow } from './store/registry.js';

const changes = counter(
  'holdpoint_space_policy_changes_total',
  'Opt-ins to destructive actions that people added or removed, since the start of the process',
  ['action'],
);

/** Which destructive actions a space lets its agents take without a person (seed 001). Nothing, until somebody says so. */
export class SpacePreferences {
  constructor(
    private readonly changes: PolicyChanges,
    private readonly decisions: DecisionsDatabase,
  ) {}

  get(who: Identity, spaceId: string): Promise<SpacePolicyView> {
    return this.changes.seen(who, spaceId, async (tx) =>
      preferencesViewOf(spaceId, await preferences.find(tx, spaceId)),
    );
  }

  /** For services, which may know every space's. */
  async of(spaceId: string): Promise<SpacePolicyView> {
    return preferencesViewOf(spaceId, await preferences.find(this.decisions.db, spaceId));
  }

  audit(who: Identity, spaceId: string, query: AuditQuery) {
    return this.changes.seen(who, spaceId, (tx) => audits.preferences(tx, spaceId, query));
  }

  /**
   * Sets the whole list. Of several at once the last wins, and the audit tells what each of them changed. The same again
   * changes nothing and tells nobody. Once a revoke is answered, no call executes by what was allowed before.
   * @throws Refusal that names what is unknown, not destructive, or not acknowledged
   */
  async set(who: Identity, spaceId: string, { allowDestructive, acknowledged }: SetSpacePolicyRequest) {
    const { view, added, removed } = await this.changes.ofSpace(who, spaceId, async ({ tx, tell }) => {
      const before = await preferences.find(tx, spaceId);
      const had = before?.allow_destructive ?? [];
      const added = allowDestructive.filter((name) => !had.includes(name));
      const removed = had.filter((name) => !allowDestructive.includes(name));
      requireDestructive(allowDestructive, added, await registry.list(tx, spaceId));
      if (added.length > 0 && acknowledged !== true) throw refusal.notAcknowledged(added);
      if (before !== undefined && added.length + removed.length === 0)
        return { value: { view: preferencesViewOf(spaceId, before), added, removed }, tightens: false };
      const { revision, at } = await tell(
        { what: 'preferences', added, removed, allowDestructive },
        before?.updated_at,
      );
      const row = {
        space_id: spaceId,
        allow_destructive: allowDestructive,
        updated_at: at,
        updated_by: who.id,
        revision,
      };
      await preferences.set(tx, row);
      return { value: { view: preferencesViewOf(spaceId, row), added, removed }, tightens: removed.length > 0 };
    });
    changes.inc({ action: 'added' }, added.length);
    changes.inc({ action: 'removed' }, removed.length);
    return view;
  }
}

/**
 * A name that nothing has today could be given tomorrow, to something that nobody had in mind. Of what is allowed already
 * nothing is asked: a tool that is withdrawn or described otherwise since must not stand in the way of a revoke.
 */
function requireDestructive(names: readonly string[], added: readonly string[], tools: readonly ToolRow[]): void {
  const hints = new Map(
    tools
      .filter((t) => !t.withdrawn)
      .flatMap((t) => t.actions.map((a) => [writeAction({ ...t, action: a.name }), a.hint] as const)),
  );
  const unknown = added.filter((name) => !hints.has(name));
  if (unknown.length > 0) throw refusal.unknownTool(names, unknown);
  const harmless = added.filter((name) => hints.get(name) !== 'destructive');
  if (harmless.length > 0) throw refusal.notDestructive(names, harmless);
}
