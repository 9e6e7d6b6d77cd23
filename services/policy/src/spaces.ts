import type {
  CreateSpaceRequest,
  HoldpointEvent,
  Identity,
  MemberView,
  Role,
  SetMemberRequest,
  SpaceView,
} from '@holdpoint/contracts';
import { newEvent, type Outbox, type OutboxRelay } from '@holdpoint/eventing';
import { requirePerson, requireRole } from '@holdpoint/runtime';
import type { Kysely, Transaction } from 'kysely';
import { objectionTo } from './domain/membership.js';
import * as refusal from './refusals.js';
import { roleIn } from './role-in.js';
import { asUser, lockSpace } from './store/as-user.js';
import { type MemberRow, members, memberViewOf } from './store/members.js';
import type { PolicyDatabase } from './store/schema.js';

type Tx = Transaction<PolicyDatabase>;

/**
 * Spaces and who belongs to them: each change is a row and its event in one transaction, made as the person who asks. What
 * that person may is read from the rows within the transaction, never taken from the request's identity.
 */
export class Spaces {
  constructor(
    private readonly db: Kysely<PolicyDatabase>,
    private readonly outbox: Outbox,
    private readonly relay: OutboxRelay,
    /** Who may create spaces; `*` is everybody. */
    private readonly creators: readonly string[],
  ) {}

  /** Those that the person is a member of. */
  async mine(who: Identity): Promise<SpaceView[]> {
    requirePerson(who);
    return asUser(this.db, who.id, async (tx) => {
      const rows = await tx
        .selectFrom('spaces')
        .innerJoin('space_members', 'space_members.space_id', 'spaces.space_id')
        .select(['spaces.space_id', 'name', 'role', 'created_by', 'created_at'])
        .where('user_id', '=', who.id)
        .orderBy('spaces.space_id')
        .execute();
      return rows.map((row) => ({
        spaceId: row.space_id,
        name: row.name,
        role: row.role,
        createdBy: row.created_by,
        createdAt: row.created_at.toISOString(),
      }));
    });
  }

  /** The creator is its owner, and whoever else is named belongs to it from the start. @throws Refusal `policy.space-…` */
  async create(who: Identity, { spaceId, name, members: others = [] }: CreateSpaceRequest): Promise<SpaceView> {
    requirePerson(who);
    if (!this.creators.includes('*') && !this.creators.includes(who.id)) throw refusal.notACreator();
    const creator = { userId: who.id, displayName: who.name, role: 'owner' as Role };
    const all: (typeof others)[number][] = [creator, ...others];
    if (new Set(all.map((m) => m.userId)).size < all.length) throw refusal.namedTwice();
    const createdBy = { kind: 'person' as const, id: who.id };
    const event = newEvent('policy.space-created', { spaceId, entityId: spaceId, data: { name, createdBy } });
    await asUser(this.db, who.id, async (tx) => {
      await lockSpace(tx, spaceId);
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('spaces')
        .values({ space_id: spaceId, name, created_by: who.id, created_at: new Date(event.time) })
        .onConflict((c) => c.doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows !== 1n) throw refusal.spaceExists();
      await this.outbox.add(tx, event);
      for (const { userId, displayName, role, groups = [] } of all) {
        const changed = memberChanged(spaceId, who, { userId, displayName, role, groups });
        await members.add(tx, rowOf(changed, role));
        await this.outbox.add(tx, changed);
      }
    });
    this.relay.poke();
    return { spaceId, name, role: 'owner', createdBy: who.id, createdAt: event.time };
  }

  /** @throws Refusal `not-found` for whoever is no member */
  members(who: Identity, spaceId: string, after: string, limit: number): Promise<MemberView[]> {
    return asUser(this.db, who.id, async (tx) => {
      await roleIn(tx, who, spaceId);
      return (await members.list(tx, spaceId, after, limit)).map(memberViewOf);
    });
  }

  /** Makes somebody a member, or changes what they are. The same again changes nothing and tells nobody. */
  async set(who: Identity, spaceId: string, userId: string, request: SetMemberRequest): Promise<MemberView> {
    const row = await asUser(this.db, who.id, async (tx) => {
      const before = await this.#permit(tx, who, spaceId, userId, request.role);
      const displayName = request.displayName ?? before?.display_name ?? userId;
      const groups = request.groups ?? before?.groups ?? [];
      const same =
        before?.role === request.role && before.display_name === displayName && sameSet(before.groups, groups);
      if (same) return before;
      const changed = memberChanged(spaceId, who, { userId, displayName, role: request.role, groups });
      const after = rowOf(changed, request.role);
      await (before === undefined ? members.add(tx, after) : members.change(tx, after));
      await this.outbox.add(tx, changed);
      return after;
    });
    this.relay.poke();
    return memberViewOf(row);
  }

  /** Whoever is no member stays none. From the moment this returns, no service lets them do anything in the space. */
  async remove(who: Identity, spaceId: string, userId: string): Promise<void> {
    await asUser(this.db, who.id, async (tx) => {
      const before = await this.#permit(tx, who, spaceId, userId, null);
      if (before === undefined) return;
      await members.remove(tx, spaceId, userId);
      await this.outbox.add(tx, memberChanged(spaceId, who, { userId, displayName: before.display_name, role: null }));
    });
    this.relay.poke();
  }

  /** @returns the member as they are now. @throws Refusal when the person may not make them `to` */
  async #permit(tx: Tx, who: Identity, spaceId: string, userId: string, to: Role | null) {
    await lockSpace(tx, spaceId);
    const role = await roleIn(tx, who, spaceId);
    const member = await members.find(tx, spaceId, userId);
    const objection = objectionTo({
      by: { userId: who.id, role },
      member: { userId, role: member?.role ?? null },
      to,
      otherOwners: await members.ownersBesides(tx, spaceId, userId),
    });
    if (objection === 'owners-only') throw refusal.ownersOnly();
    if (objection === 'last-owner') throw refusal.lastOwner();
    if (objection === 'role-missing') requireRole({ ...who, spaces: { [spaceId]: role } }, spaceId, 'owner', 'admin');
    return member;
  }
}

const sameSet = (a: string[], b: string[]) => a.length === b.length && b.every((g) => a.includes(g));

const memberChanged = (
  spaceId: string,
  who: Identity,
  member: { userId: string; displayName: string; role: Role | null; groups?: string[] },
): HoldpointEvent<'policy.member-changed'> =>
  newEvent('policy.member-changed', {
    spaceId,
    entityId: spaceId,
    data: { ...member, changedBy: { kind: 'person', id: who.id } },
  });

const rowOf = ({ spaceid, time, data }: HoldpointEvent<'policy.member-changed'>, role: Role): MemberRow => ({
  space_id: spaceid,
  user_id: data.userId,
  display_name: data.displayName,
  role,
  groups: data.groups ?? [],
  changed_by: data.changedBy.id,
  changed_at: new Date(time),
});
