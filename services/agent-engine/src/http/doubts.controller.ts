import {
  type CallRef,
  type DoubtView,
  type Identity,
  type SettleRequest,
  settleRequest,
  token,
} from '@holdpoint/contracts';

import { requireRole, Who } from '@holdpoint/runtime';
import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ProposedAnew } from '../gate/proposed-anew.js';

import { Settlement } from '../gate/settlement.js';
import { Secrets } from '../secrets/secrets.js';
import { claimOf, Executions } from '../store/executions.js';
import { refuseSecrets } from './no-secrets.js';

@Controller('v1')
export class DoubtsController {
  constructor(
    private readonly executions: Executions,
    private readonly settlement: Settlement,
    private readonly anew: ProposedAnew,
    private readonly secrets: Secrets,
  ) {}

  /** Every call of which nobody knows whether it took effect, oldest first. */
  @Get('doubts')
  async list(@Who() who: Identity): Promise<{ items: DoubtView[] }> {
    const rows = await this.executions.inDoubt(Object.keys(who.spaces));
    const items = rows.map((r): DoubtView => {
      const { agent, tool, action } = JSON.parse(r.ref) as CallRef;
      const { attempt, held } = r;
      const reason = r.doubt_reason ?? 'unknown';
      const since = r.changed_at.toISOString();
      return {
        callId: r.call_id,
        spaceId: r.space_id,
        runId: r.run_id,
        agent,
        tool,
        action,
        attempt,
        held,
        reason,
        since,
      };
    });
    return { items };
  }

  /** `proposedAnew` is the id of the call that is proposed in its place, if that was asked for. */
  @Post('calls/:id/settle')
  @HttpCode(200)
  async settle(
    @Param('id', { schema: token }) callId: string,
    @Body({ schema: settleRequest }) body: SettleRequest,
    @Who() who: Identity,
  ): Promise<{ callId: string; status: 'Ok' | 'Error'; proposedAnew?: string }> {
    const row = await this.executions.find(callId);
    requireRole(who, row?.space_id, 'owner', 'admin');
    if (!row) throw new Error('a call without a space');
    refuseSecrets(this.secrets, 'note', body.note);
    const status = body.happened ? 'Ok' : 'Error';
    const anew = body.proposeAnew ? await this.anew.prepare(row) : undefined;
    await this.settlement.settle(claimOf(row), who, body, anew);
    return { callId, status, ...(anew === undefined ? {} : { proposedAnew: anew.callId }) };
  }
}
