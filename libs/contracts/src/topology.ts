import type { ServiceName } from './events/define.js';

export interface ServiceTopology {
  /** Subjects that the bus lets this service, and nobody else, publish. */
  publishes: readonly string[];
  /** One durable pull consumer a pattern; `>` is every event in stream order. */
  consumes: readonly string[];
  /** Live core messages, as hints only: nothing is acted upon before it is read back from the stream. */
  hints: readonly string[];
  /** May read any stored message from the stream's leader. Cannot be scoped to subjects; content is sealed. */
  readsLeader: boolean;
}

/** The one place that says who may do what on the bus; accounts, exports and consumers derive from it. */
export const topology: Record<ServiceName, ServiceTopology> = {
  'agent-engine': {
    publishes: ['run.>', 'tool.>'],
    consumes: ['approval.decided.>', 'task.ready.>', 'task.cancelled.>'],
    hints: ['policy.decided.>', 'call.staged.>', 'policy.changed.>'],
    readsLeader: true,
  },
  policy: { publishes: ['policy.>'], consumes: ['tool.proposed.>', 'tool.announced.>'], hints: [], readsLeader: false },
  staging: {
    publishes: ['call.>', 'approval.>'],
    consumes: ['policy.decided.>', 'tool.started.>', 'tool.executed.>', 'tool.in-doubt.>'],
    hints: [],
    readsLeader: true,
  },
  taskboard: {
    publishes: ['task.>'],
    consumes: ['run.queued.>', 'run.started.>', 'run.completed.>', 'tool.executed.>', 'approval.decided.>'],
    hints: [],
    readsLeader: false,
  },
  audit: { publishes: [], consumes: ['>'], hints: [], readsLeader: false },
};

/** Durable name of a service's consumer: `policy__tool_proposed`, `audit__all`. */
export const consumerName = (service: string, pattern: string): string =>
  `${service}__${pattern === '>' ? 'all' : pattern.replace(/\.>$/, '').replaceAll('.', '_')}`;
