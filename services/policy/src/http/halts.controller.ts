import { type HaltRequest, type HaltView, haltRequest, type Identity, token } from '@holdpoint/contracts';
import { Who } from '@holdpoint/runtime';
import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { Halts } from '../halts.js';
import { type HaltsQuery, haltsQuery } from '../store/halts.js';

/** Emergency stops. Owners and admins halt their space and its agents, operators everything. */
@Controller('api/v1/halts')
export class HaltsController {
  constructor(private readonly halts: Halts) {}

  @Get()
  async list(
    @Query({ schema: haltsQuery }) query: HaltsQuery,
    @Who() who: Identity,
  ): Promise<{ items: HaltView[]; nextCursor?: string }> {
    const found = await this.halts.list(who, { ...query, limit: query.limit + 1 });
    const items = found.slice(0, query.limit);
    const last = items.at(-1);
    return { items, ...(found.length > query.limit && last ? { nextCursor: last.id } : {}) };
  }

  @Post()
  set(@Body({ schema: haltRequest }) request: HaltRequest, @Who() who: Identity): Promise<HaltView> {
    return this.halts.set(who, request);
  }

  @Post(':id/lift')
  @HttpCode(200)
  lift(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<HaltView> {
    return this.halts.lift(who, id);
  }
}
