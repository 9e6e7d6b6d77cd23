import { type DynamicModule, Module, type OnApplicationShutdown } from '@nestjs/common';
import { registerHealth } from '../health.js';
import { AuthGuard } from './auth-guard.js';
import { IdentityFile } from './identity-file.js';

/** The guard and what it knows people by. A service that cannot read its identity file is not ready. */
@Module({})
export class AuthModule implements OnApplicationShutdown {
  readonly #unregister: () => void;

  constructor(identities: IdentityFile) {
    this.#unregister = registerHealth('identities', () => identities.check());
  }

  static forRoot(path: string): DynamicModule {
    const identities = new IdentityFile(path);
    return {
      module: AuthModule,
      providers: [
        { provide: IdentityFile, useValue: identities },
        { provide: AuthGuard, useValue: new AuthGuard(identities) },
      ],
      exports: [AuthGuard],
    };
  }

  onApplicationShutdown(): void {
    this.#unregister();
  }
}
