import {
  type SpacePolicyAdvice,
  type SpacePolicyAdviceRequest,
  spacePolicyAdviceRequest,
  token,
} from '@holdpoint/contracts';
import { ServicesOnly } from '@holdpoint/runtime';
import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { Policy } from '../policy.js';

/** What would become of actions, were they called now, so that a model is not offered what it would be refused. */
@Controller('internal/spaces')
export class AdviceController {
  constructor(private readonly policy: Policy) {}

  /** Counts towards no rate limit and looks into no content. Nothing comes of it: each call is decided for itself. */
  @Post(':spaceId/advice')
  @HttpCode(200)
  @ServicesOnly('agent-engine')
  async advise(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Body({ schema: spacePolicyAdviceRequest }) { agent, actions }: SpacePolicyAdviceRequest,
  ): Promise<SpacePolicyAdvice> {
    const rows = await this.policy.read(spaceId, agent);
    return {
      spaceId,
      agent,
      actions: actions.map((asked) => {
        const { verdict, reason } = this.policy.judge({ ...asked, agent }, { readable: true, flags: [] }, rows);
        return { server: asked.server, tool: asked.tool, action: asked.action, verdict, reason };
      }),
    };
  }
}
