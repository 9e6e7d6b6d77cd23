import type { HoldpointEvent, Receipt } from '@holdpoint/contracts';

export type ReceiptDraft = Omit<Receipt, 'completedAt' | 'streamSeq'>;

/** The receipt of a run (seed 003). A cost that is no plain decimal is not known. */
export function receiptFor(event: HoldpointEvent<'run.completed'>, seq: number): ReceiptDraft {
  const { data } = event;
  const { agent, model, source, principal, conversationId, taskId, attempt, status, steps, usage, durationMs } = data;
  return {
    runId: event.subject,
    spaceId: event.spaceid,
    agent,
    model,
    source,
    principal,
    conversationId,
    ...(taskId === undefined ? {} : { taskId }),
    attempt: attempt ?? null,
    status,
    reason: data.reason ?? null,
    steps,
    usage,
    cost: isDecimal(data.cost.amount) ? data.cost : { amount: '0', known: false },
    resultSeq: data.result === null ? null : seq,
    durationMs,
  };
}

const isDecimal = (amount: string): boolean => /^\d{1,12}(\.\d{1,18})?$/.test(amount);
