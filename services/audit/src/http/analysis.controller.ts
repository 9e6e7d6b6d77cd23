import type { ApprovalTime, HeldShare, Identity, OutcomeCost, ToolErrorRate } from '@holdpoint/contracts';
import { Who } from '@holdpoint/runtime';
import { Controller, Get, Query } from '@nestjs/common';
import { Analysis, type Span } from '../store/analysis.js';
import { type SpanQuery, spanQuery } from './query.js';
import { readableSpaces } from './spaces.js';

/** What one's spaces come to (seed 003): over the whole time asked for, or hour by hour, day by day (UTC). */
@Controller('v1/audit')
export class AnalysisController {
  constructor(private readonly analysis: Analysis) {}

  @Get('tools/error-rates')
  async errorRates(
    @Query({ schema: spanQuery }) query: SpanQuery,
    @Who() who: Identity,
  ): Promise<{ items: ToolErrorRate[] }> {
    return { items: await this.analysis.errorRates(spanOf(query, who)) };
  }

  @Get('tools/held')
  async held(@Query({ schema: spanQuery }) query: SpanQuery, @Who() who: Identity): Promise<{ items: HeldShare[] }> {
    return { items: await this.analysis.heldShares(spanOf(query, who)) };
  }

  @Get('approvals/times')
  async approvalTimes(
    @Query({ schema: spanQuery }) query: SpanQuery,
    @Who() who: Identity,
  ): Promise<{ items: ApprovalTime[] }> {
    return { items: await this.analysis.approvalTimes(spanOf(query, who)) };
  }

  @Get('costs')
  async costs(@Query({ schema: spanQuery }) query: SpanQuery, @Who() who: Identity): Promise<{ items: OutcomeCost[] }> {
    return { items: await this.analysis.outcomeCosts(spanOf(query, who)) };
  }
}

const spanOf = ({ space, ...query }: SpanQuery, who: Identity): Span => ({
  ...query,
  spaces: readableSpaces(who, space),
});
