import type { HoldpointEvent } from '@holdpoint/contracts';

/** An approval as its row has it. */
export const approvalRowOf = ({ subject, spaceid, data }: HoldpointEvent<'approval.decided'>) => ({
  call_id: subject,
  space_id: spaceid,
  number: data.number,
  by_kind: data.by?.kind ?? null,
  by_id: data.by?.id ?? null,
  reason: data.reason === null ? null : JSON.stringify(data.reason),
});
