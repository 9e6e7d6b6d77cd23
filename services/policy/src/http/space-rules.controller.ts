import {
  type Identity,
  type SetSpaceRulesRequest,
  type SpaceRulesAudit,
  type SpaceRulesView,
  setSpaceRulesRequest,
  token,
} from '@holdpoint/contracts';
import { Who } from '@holdpoint/runtime';
import { Body, Controller, Get, Param, Put, Query } from '@nestjs/common';
import { SpaceRules } from '../space-rules.js';
import { type AuditQuery, auditQuery } from '../store/audits.js';

/** A space's own rules: read by its members, set by owners and admins. */
@Controller('api/v1/spaces/:spaceId/rules')
export class SpaceRulesController {
  constructor(private readonly rules: SpaceRules) {}

  @Get()
  get(@Param('spaceId', { schema: token }) spaceId: string, @Who() who: Identity): Promise<SpaceRulesView> {
    return this.rules.get(who, spaceId);
  }

  @Put()
  set(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Body({ schema: setSpaceRulesRequest }) request: SetSpaceRulesRequest,
    @Who() who: Identity,
  ): Promise<SpaceRulesView> {
    return this.rules.set(who, spaceId, request);
  }

  @Get('audit')
  audit(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Query({ schema: auditQuery }) query: AuditQuery,
    @Who() who: Identity,
  ): Promise<SpaceRulesAudit> {
    return this.rules.audit(who, spaceId, query);
  }
}
