import { memberships, userId } from '@holdpoint/contracts';
import { ServicesOnly } from '@holdpoint/runtime';
import { Controller, Get, Param } from '@nestjs/common';
import type { z } from 'zod';
import { DecisionsDatabase } from '../store/decisions-database.js';

/** What a person may do where, for the services that have to know. Never from a cache: a revoked role is gone at once. */
@Controller('internal/members')
export class MembershipsController {
  constructor(private readonly decisions: DecisionsDatabase) {}

  @Get(':userId/spaces')
  @ServicesOnly()
  async of(@Param('userId', { schema: userId }) id: string): Promise<z.infer<typeof memberships>> {
    return { userId: id, ...(await this.decisions.standingOf(id)) };
  }
}
