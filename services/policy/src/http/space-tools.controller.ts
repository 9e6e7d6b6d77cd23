import { type Identity, type SpaceToolView, token } from '@holdpoint/contracts';
import { Who } from '@holdpoint/runtime';
import { Controller, Get, Param } from '@nestjs/common';
import { SpaceTools } from '../space-tools.js';

/** The tools that a space's agents have, for every member. */
@Controller('api/v1/spaces/:spaceId/tools')
export class SpaceToolsController {
  constructor(private readonly tools: SpaceTools) {}

  @Get()
  async list(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Who() who: Identity,
  ): Promise<{ items: SpaceToolView[] }> {
    return { items: await this.tools.list(who, spaceId) };
  }
}
