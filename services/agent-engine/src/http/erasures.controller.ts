import { type ErasureRequest, type ErasureView, erasureRequest, type Identity } from '@holdpoint/contracts';
import { requireRole, Who } from '@holdpoint/runtime';
import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { Erasure } from '../erasure.js';
import { Secrets } from '../secrets/secrets.js';
import { refuseSecrets } from './no-secrets.js';

@Controller('v1/erasures')
export class ErasuresController {
  constructor(
    private readonly erasure: Erasure,
    private readonly secrets: Secrets,
  ) {}

  /**
   * Destroys the data keys of conversations of a space, by its owners and admins. It cannot be undone. Asked for again it
   * destroys what was left alone as busy.
   */
  @Post()
  @HttpCode(200)
  async erase(@Body({ schema: erasureRequest }) body: ErasureRequest, @Who() who: Identity): Promise<ErasureView> {
    requireRole(who, body.spaceId, 'owner', 'admin');
    refuseSecrets(this.secrets, 'reason', body.reason);
    const { spaceId, conversationId, personId, before } = body;
    const which = { spaceId, conversationId, personId, before: before === undefined ? undefined : new Date(before) };
    return this.erasure.erase(which, { kind: who.kind, id: who.id }, body.reason);
  }
}
