export * from './advice.js';
export * from './analysis.js';
export * from './call.js';
export { type CheckOptions, checkStream, StreamCheck } from './chain/check.js';
export { explain } from './chain/explain.js';
export type { CheckCounts, CheckReport, OpenEntity, StreamMessage, Violation } from './chain/report.js';
export { type FrozenContext, frozenStatement } from './digest.js';
export * from './erasure.js';
export * from './events/approval.js';
export * from './events/catalogue.js';
export {
  type Entity,
  type Envelope,
  type EventDefinition,
  envelope,
  type ServiceName,
  schemaUri,
} from './events/define.js';
export * from './events/policy.js';
export * from './events/run.js';
export * from './events/space.js';
export * from './events/task.js';
export * from './events/tool.js';
export * from './http.js';
export * from './ids.js';
export * from './policy-authors.js';
export * from './preview.js';
export * from './principal.js';
export { printable } from './printable.js';
export * from './projection.js';
export * from './requirement.js';
export * from './requirement-words.js';
export * from './sealed.js';
export * from './space-policy.js';
export * from './subjects.js';
export * from './topology.js';
