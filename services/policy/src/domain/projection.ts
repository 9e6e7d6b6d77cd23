import {
  AWAITING,
  answers,
  awaits,
  consumerName,
  type Fact,
  type HoldpointEvent,
  INBOX,
  type Projection,
  type Row,
  type RowKey,
  type Rows,
  took,
} from '@holdpoint/contracts';
import { decisionRowOf, judgedRowOf } from './decision-row.js';

type Changed = HoldpointEvent<'policy.changed'>;

/** What a proposal states of its tool, until its verdict. */
const STATED = 'stated';
const PROPOSALS = consumerName('policy', 'tool.proposed.>');
const ANNOUNCEMENTS = consumerName('policy', 'tool.announced.>');

const audited = (what: 'preferences' | 'rules', subject: 'tool_name' | 'rule') => ({
  key: ['id'],
  computed: { id: `policy.audit_id('${what}', space_id, revision, action, ${subject}::text)` },
});

/** Verdicts, spaces with their members, and what spaces decide, as the events tell them; the registry as announced last. */
export const projection: Projection = {
  tables: [
    { name: 'spaces', key: ['space_id'] },
    { name: 'space_members', key: ['space_id', 'user_id'] },
    { name: 'tools', key: ['space_id', 'server', 'tool'] },
    { name: 'space_revisions', key: ['space_id'] },
    { name: 'space_policy_preferences', key: ['space_id'] },
    { name: 'space_policy_audit', ...audited('preferences', 'tool_name') },
    { name: 'space_rules', key: ['space_id'] },
    { name: 'space_rules_audit', ...audited('rules', 'rule') },
    { name: 'halts', key: ['halt_id'] },
    { name: 'decisions', key: ['call_id'] },
    { name: 'judged_calls', key: ['call_id'] },
    INBOX,
  ],
  notes: [STATED, AWAITING],

  reads({ event }) {
    const { spaceid, subject, id, causationid } = event;
    switch (event.type) {
      case 'tool.proposed':
        return [
          ['inbox', PROPOSALS, id],
          [AWAITING, id],
          ['decisions', subject],
        ];
      case 'policy.decided': {
        const cause: RowKey[] =
          causationid === undefined
            ? []
            : [
                ['inbox', PROPOSALS, causationid],
                [AWAITING, causationid],
              ];
        return [['decisions', subject], [STATED, subject], ...cause];
      }
      case 'tool.announced':
        return [
          ['tools', spaceid, event.data.server, event.data.tool],
          ['inbox', ANNOUNCEMENTS, id],
        ];
      case 'policy.space-created':
        return [['spaces', spaceid]];
      case 'policy.changed':
        return [
          ['space_revisions', spaceid],
          ['space_policy_preferences', spaceid],
          ['space_rules', spaceid],
          ...(event.data.halt ? [['halts', event.data.halt.id] as const] : []),
        ];
      default:
        return [];
    }
  },

  apply(fact, rows) {
    const { event, seq } = fact;
    switch (event.type) {
      case 'tool.proposed':
        return proposed(fact, event, rows);
      case 'policy.decided':
        return decided(event, seq, rows);
      case 'tool.announced':
        return announced(fact, event, rows);
      case 'policy.space-created':
        if (rows.get('spaces', event.spaceid) !== undefined) return;
        return rows.put('spaces', {
          space_id: event.spaceid,
          name: event.data.name,
          created_by: event.data.createdBy.id,
          created_at: event.time,
        });
      case 'policy.member-changed':
        return memberChanged(event, rows);
      case 'policy.changed':
        return changed(event, rows);
      default:
        return;
    }
  },
};

function proposed(fact: Fact, { subject, data }: HoldpointEvent<'tool.proposed'>, rows: Rows): void {
  if (rows.get('decisions', subject) !== undefined) return;
  const { call, hint, scope, origin } = data;
  const { agent, server, tool, action } = call;
  rows.put(STATED, { id: subject, value: { agent, server, tool, action, hint, scope, origin } });
  awaits(rows, PROPOSALS, fact);
}

/** The verdict is stream first: the row follows it. */
function decided(event: HoldpointEvent<'policy.decided'>, seq: number | null, rows: Rows): void {
  const stated = rows.get(STATED, event.subject)?.['value'] as Parameters<typeof judgedRowOf>[1] | undefined;
  if (seq === null || stated === undefined || rows.get('decisions', event.subject) !== undefined) return;
  rows.put('decisions', decisionRowOf(event, seq));
  rows.put('judged_calls', judgedRowOf(event, stated));
  rows.remove(STATED, event.subject);
  answers(rows, event.causationid);
}

function announced(fact: Fact, { spaceid, time, data }: HoldpointEvent<'tool.announced'>, rows: Rows): void {
  const known = rows.get('tools', spaceid, data.server, data.tool);
  if (fact.seq !== null && (known === undefined || Number(known['stream_seq']) < fact.seq))
    rows.put('tools', {
      space_id: spaceid,
      server: data.server,
      tool: data.tool,
      origin: data.origin,
      description: data.description,
      affected_data: data.affectedData,
      schema_digest: data.schemaDigest,
      agents: data.agents,
      actions: data.actions,
      withdrawn: data.withdrawn,
      announced_at: time,
      stream_seq: fact.seq,
    });
  took(rows, ANNOUNCEMENTS, fact);
}

function memberChanged({ spaceid, time, data }: HoldpointEvent<'policy.member-changed'>, rows: Rows): void {
  const { userId, displayName, role, groups = [], changedBy } = data;
  if (role === null) rows.remove('space_members', spaceid, userId);
  else
    rows.put('space_members', {
      space_id: spaceid,
      user_id: userId,
      display_name: displayName,
      role,
      groups,
      changed_by: changedBy.id,
      changed_at: time,
    });
}

function changed(event: Changed, rows: Rows): void {
  const { spaceid, data } = event;
  const last = rows.get('space_revisions', spaceid)?.['revision'] as number | undefined;
  if (last !== undefined && last >= data.revision) return;
  rows.put('space_revisions', { space_id: spaceid, revision: data.revision });
  if (data.allowDestructive !== undefined) preferences(event, data.allowDestructive, rows);
  if (data.rules !== undefined) rules(event, JSON.parse(data.rules) as Row[], rows);
  if (data.halt !== undefined) halt(event, data.halt, rows);
}

const lastChange = ({ spaceid, time, data }: Changed) => ({
  space_id: spaceid,
  updated_at: time,
  updated_by: data.by.id,
  revision: data.revision,
  schema_version: 1,
});

function preferences(event: Changed, after: string[], rows: Rows): void {
  const before = (rows.get('space_policy_preferences', event.spaceid)?.['allow_destructive'] ?? []) as string[];
  rows.put('space_policy_preferences', { ...lastChange(event), allow_destructive: after });
  audit(event, 'space_policy_audit', 'tool_name', before, after, rows);
}

function rules(event: Changed, after: Row[], rows: Rows): void {
  const before = (rows.get('space_rules', event.spaceid)?.['rules'] ?? []) as Row[];
  rows.put('space_rules', { ...lastChange(event), rules: after });
  audit(event, 'space_rules_audit', 'rule', before, after, rows);
}

/** What the tables' own triggers write, which a rebuild does not set off. */
function audit(
  { spaceid, time, data }: Changed,
  table: string,
  column: string,
  before: readonly unknown[],
  after: readonly unknown[],
  rows: Rows,
): void {
  const [had, has] = [new Set(before.map(canonical)), new Set(after.map(canonical))];
  const entry = (action: 'added' | 'removed', subject: unknown) =>
    rows.put(table, {
      space_id: spaceid,
      actor_id: data.by.id,
      action,
      [column]: subject,
      at: time,
      revision: data.revision,
    });
  for (const subject of before) if (!has.has(canonical(subject))) entry('removed', subject);
  for (const subject of after) if (!had.has(canonical(subject))) entry('added', subject);
}

/** Equal for what is equal as jsonb: the order of keys does not count. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, v: unknown) =>
    typeof v === 'object' && v !== null && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  );

function halt({ spaceid, time, data }: Changed, told: NonNullable<Changed['data']['halt']>, rows: Rows): void {
  const { id, scope, agent, reason, lifted } = told;
  const row = rows.get('halts', id);
  if (!lifted && row === undefined)
    rows.put('halts', {
      halt_id: id,
      scope,
      space_id: scope === 'everything' ? null : spaceid,
      agent,
      reason,
      set_by: data.by.id,
      set_at: time,
    });
  else if (lifted && row !== undefined) rows.put('halts', { ...row, lifted_by: data.by.id, lifted_at: time });
}
