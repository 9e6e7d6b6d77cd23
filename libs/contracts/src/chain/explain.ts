import type { CallRef } from '../call.js';
import type { HoldpointEvent } from '../events/catalogue.js';
import type { Principal } from '../principal.js';
import { printable } from '../printable.js';

/** One event in one line of plain words, from its metadata alone; text of strangers is quoted and escaped. */
export function explain(e: HoldpointEvent): string {
  switch (e.type) {
    case 'run.queued': {
      const { agent, principal, source, taskId, attempt } = e.data;
      const cause = taskId === undefined ? `from ${source}` : `for task ${taskId}, attempt ${attempt ?? '?'}`;
      return `a run of ${quoted(agent)} for ${who(principal)} waits for its conversation, ${cause}`;
    }
    case 'run.started':
      return `the run starts with model ${quoted(e.data.model)} on engine ${quoted(e.data.engine)}`;
    case 'run.completed': {
      const { status, reason, steps, usage, cost, durationMs } = e.data;
      const tokens = count(usage.promptTokens + usage.completionTokens, 'token');
      const price = cost.known ? `$${quoted(cost.amount)}` : 'cost unknown';
      return `the run is over: ${status}${because(reason)}; ${count(steps, 'step')}, ${tokens}, ${price}, ${seconds(durationMs)}`;
    }
    case 'run.key-destroyed':
      return `the key of the conversation is destroyed by ${who(e.data.by)}${because(e.data.reason)}: its content is gone for good`;
    case 'tool.proposed': {
      const { call, hint, executionClass, origin, argumentBytes } = e.data;
      const from = `${origin} server ${quoted(call.server)}`;
      return `${quoted(call.agent)} asks for ${named(call)} (${from}, ${hint}, ${executionClass}) with ${count(argumentBytes, 'byte')}, digest ${short(call.digest)}`;
    }
    case 'tool.abandoned':
      return `the engine gives the proposal up: ${e.data.reason}`;
    case 'tool.started':
      return `${named(e.data.call)} is claimed${e.data.held ? ' after its release' : ''}, attempt ${e.data.attempt}`;
    case 'tool.executed': {
      const { call, status, reason, settledBy, cancelled, durationMs } = e.data;
      const settled = settledBy === undefined ? '' : `, settled by ${who(settledBy)}`;
      return `${named(call)} came to ${status}${because(reason)}${settled}${cancelled ? ', its run was cancelled' : ''}, ${seconds(durationMs)}`;
    }
    case 'tool.in-doubt':
      return `nobody knows whether ${named(e.data.call)} took effect (${e.data.reason}, attempt ${e.data.attempt}): a person must settle it`;
    case 'policy.decided': {
      const { verdict, rule, reason, mode, wouldBe, flags } = e.data;
      const trial = mode === 'log-only' ? ` (trial mode${wouldBe ? `, would be ${wouldBe}` : ''})` : '';
      return `policy says ${verdict}${trial} by ${quoted(rule)}${because(reason)}${flagged(flags)}`;
    }
    case 'policy.space-created':
      return `the space ${quoted(e.data.name)} is created by ${who(e.data.createdBy)}`;
    case 'policy.member-changed': {
      const { userId, displayName, role, changedBy } = e.data;
      const now = role === null ? 'is no longer a member' : `is ${role}`;
      return `${quoted(userId)} (${quoted(displayName)}) ${now}, by ${who(changedBy)}`;
    }
    case 'policy.changed': {
      const { what, revision, by, added, removed, halt } = e.data;
      if (halt) {
        const whom = halt.agent === null ? halt.scope : `${halt.scope} ${quoted(halt.agent)}`;
        return `${halt.lifted ? 'a halt is lifted' : 'a halt is set'} (${whom}) by ${who(by)}, revision ${revision}`;
      }
      const more = (verb: string, names: string[]) =>
        names.length === 0 ? '' : `; ${verb} ${names.map(quoted).join(', ')}`;
      return `the ${what} of the space change by ${who(by)}, revision ${revision}${more('added', added)}${more('removed', removed)}`;
    }
    case 'tool.announced': {
      const { tool, server, agents, actions, withdrawn } = e.data;
      return withdrawn
        ? `no agent of the space has ${quoted(tool)} of ${quoted(server)} any more`
        : `${count(agents.length, 'agent')} of the space have ${quoted(tool)} of ${quoted(server)} with ${count(actions.length, 'action')}`;
    }
    case 'call.staged': {
      const { number, rule, expiresAt, flags } = e.data;
      return `held for a person as ${e.spaceid}#${number} by ${quoted(rule)} until ${expiresAt}${flagged(flags)}`;
    }
    case 'approval.voted': {
      const { by, vote, number, role, groups = [] } = e.data;
      const as = role === undefined ? '' : ` as ${[role, ...groups.map((g) => `of group ${g}`)].join(', ')}`;
      return `${who(by)} votes to ${vote} ${e.spaceid}#${number}${as}`;
    }
    case 'approval.decided': {
      const { decision, by, cause, number, votes = [] } = e.data;
      const byWhom = `${by === null ? cause : who(by)}${by && cause !== 'person' ? ` (${cause})` : ''}`;
      const cast = votes.length === 0 ? '' : `, with the votes of ${votes.map((v) => quoted(v.by)).join(', ')}`;
      return `${e.spaceid}#${number} is ${decision} by ${byWhom}${cast}`;
    }
    case 'task.created': {
      const { work, createdBy } = e.data;
      if (work.wakeUp === undefined)
        return `a task for ${quoted(work.agent)} by ${who(createdBy)}, due ${e.data.dueAt}`;
      return `a task to wake ${quoted(work.agent)}: ${named(work.wakeUp)} was ${work.wakeUp.outcome}${work.wakeUp.settled ? ', as a person settled it' : ''}`;
    }
    case 'task.ready':
      return `the task is offered to the engines, attempt ${e.data.attempt}, until ${e.data.leaseUntil}`;
    case 'task.completed':
      return `the task is done by run ${e.data.runId}, attempt ${e.data.attempt}`;
    case 'task.retried':
      return `the task is open again${e.data.by ? ` by ${who(e.data.by)}` : ''}${because(e.data.reason)}, due ${e.data.dueAt}`;
    case 'task.died':
      return `the task is given up after ${count(e.data.attempts, 'attempt')}${because(e.data.reason)}: a person decides what becomes of it`;
    case 'task.cancelled':
      return `the task is cancelled by ${who(e.data.by)}${because(e.data.reason)}`;
  }
}

/** A plain word as it is, anything else escaped and in quotation marks that it cannot close. */
const quoted = (text: string): string =>
  /^[\w.:/@-]+$/.test(text) ? text : `"${printable(text).replaceAll('"', '\\u{22}')}"`;

function who(p: Principal): string {
  if (p.kind === 'unknown') return 'someone unknown';
  return p.kind === 'person' ? quoted(p.id) : `service ${quoted(p.id)}`;
}

const named = ({ tool, action }: Pick<CallRef, 'tool' | 'action'>): string =>
  action === null ? quoted(tool) : `${quoted(tool)}.${quoted(action)}`;
const because = (reason: string | undefined) => (reason === undefined ? '' : ` (${quoted(reason)})`);
const flagged = (flags: readonly string[]) => (flags.length === 0 ? '' : `, flagged ${flags.map(quoted).join(' ')}`);
const short = (digest: string) => `${digest.slice(0, 12)}…`;
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const count = (n: number, thing: string) => `${n} ${thing}${n === 1 ? '' : 's'}`;
