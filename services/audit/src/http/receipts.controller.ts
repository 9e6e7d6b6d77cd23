import { type Identity, type Receipt, token } from '@holdpoint/contracts';
import { requireRole, Who } from '@holdpoint/runtime';
import { Controller, Get, Param, Query } from '@nestjs/common';
import { RunReceipts } from '../store/run-receipts.js';
import { cursorPage, pageOf, type ReceiptsQuery, receiptsQuery } from './query.js';
import { readableSpaces } from './spaces.js';

@Controller('v1')
export class ReceiptsController {
  constructor(private readonly receipts: RunReceipts) {}

  /** Receipts of one's spaces in stream order; `totals` sums over everything that a run or task filter finds, not the page. */
  @Get('audit/receipts')
  async list(@Query({ schema: receiptsQuery }) query: ReceiptsQuery, @Who() who: Identity) {
    const filter = { spaces: readableSpaces(who, query.space), run: query.run, task: query.task };
    const rows = await this.receipts.list(filter, pageOf(query));
    const totals = query.run || query.task ? { totals: await this.receipts.totals(filter) } : {};
    return { ...cursorPage(rows, query.limit), ...totals };
  }

  @Get('runs/:id/receipt')
  async ofRun(@Param('id', { schema: token }) id: string, @Who() who: Identity): Promise<Receipt> {
    const receipt = await this.receipts.find(id);
    requireRole(who, receipt?.spaceId);
    if (receipt === undefined) throw new Error('a receipt without a space');
    return receipt;
  }
}
