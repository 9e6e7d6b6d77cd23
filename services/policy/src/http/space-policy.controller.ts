import {
  type Identity,
  type SetSpacePolicyRequest,
  type SpacePolicyAudit,
  type SpacePolicyView,
  setSpacePolicyRequest,
  token,
} from '@holdpoint/contracts';
import { ServicesOnly, Who } from '@holdpoint/runtime';
import { Body, Controller, Get, Param, Put, Query } from '@nestjs/common';
import { SpacePreferences } from '../space-preferences.js';
import { type AuditQuery, auditQuery } from '../store/audits.js';

/** Which destructive actions a space opted in to: read by its members, set by owners and admins (seed 001). */
@Controller('api/v1/spaces/:spaceId/policy')
export class SpacePolicyController {
  constructor(private readonly preferences: SpacePreferences) {}

  @Get()
  get(@Param('spaceId', { schema: token }) spaceId: string, @Who() who: Identity): Promise<SpacePolicyView> {
    return this.preferences.get(who, spaceId);
  }

  @Put()
  set(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Body({ schema: setSpacePolicyRequest }) request: SetSpacePolicyRequest,
    @Who() who: Identity,
  ): Promise<SpacePolicyView> {
    return this.preferences.set(who, spaceId, request);
  }

  @Get('audit')
  audit(
    @Param('spaceId', { schema: token }) spaceId: string,
    @Query({ schema: auditQuery }) query: AuditQuery,
    @Who() who: Identity,
  ): Promise<SpacePolicyAudit> {
    return this.preferences.audit(who, spaceId, query);
  }
}

/** The same for services, of any space. */
@Controller('internal/spaces/:spaceId/policy')
export class InternalSpacePolicyController {
  constructor(private readonly preferences: SpacePreferences) {}

  @Get()
  @ServicesOnly()
  get(@Param('spaceId', { schema: token }) spaceId: string): Promise<SpacePolicyView> {
    return this.preferences.of(spaceId);
  }
}
