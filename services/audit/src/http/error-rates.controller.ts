import type { Identity, ToolErrorRate } from '@holdpoint/contracts';
import { Who } from '@holdpoint/runtime';
import { Controller, Get, Query } from '@nestjs/common';
import { AuditLog } from '../store/audit-log.js';
import { type ErrorRatesQuery, errorRatesQuery } from './query.js';
import { readableSpaces } from './spaces.js';

@Controller('v1/audit/tools/error-rates')
export class ErrorRatesController {
  constructor(private readonly auditLog: AuditLog) {}

  /** Outcomes of one's spaces by tool and action (seed 003): the whole time asked for, or hour by hour, day by day (UTC). */
  @Get()
  async list(
    @Query({ schema: errorRatesQuery }) { space, ...query }: ErrorRatesQuery,
    @Who() who: Identity,
  ): Promise<{ items: ToolErrorRate[] }> {
    return { items: await this.auditLog.errorRates({ ...query, spaces: readableSpaces(who, space) }) };
  }
}
