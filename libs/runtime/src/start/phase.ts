import { Injectable, type OnModuleDestroy } from '@nestjs/common';

/** Where the service stands. Only a `ready` one is sent work. */
@Injectable()
export class Phase implements OnModuleDestroy {
  now: 'starting' | 'ready' | 'draining' = 'starting';

  onModuleDestroy(): void {
    this.now = 'draining';
  }
}
