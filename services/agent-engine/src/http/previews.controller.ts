import { type CallPreviewView, type Identity, token } from '@holdpoint/contracts';
import { requireRole, Who } from '@holdpoint/runtime';
import { Controller, Get, Param, Query } from '@nestjs/common';
import { z } from 'zod';
import { Previews } from '../gate/previews.js';

const previewQuery = z.strictObject({ space: token });

@Controller('v1')
export class PreviewsController {
  constructor(private readonly previews: Previews) {}

  /** For members of the space, beside the exact bytes and never in their place. Changes nothing. */
  @Get('calls/:id/preview')
  preview(
    @Param('id', { schema: token }) callId: string,
    @Query({ schema: previewQuery }) { space }: z.infer<typeof previewQuery>,
    @Who() who: Identity,
  ): Promise<CallPreviewView> {
    requireRole(who, space);
    return this.previews.of(space, callId);
  }
}
