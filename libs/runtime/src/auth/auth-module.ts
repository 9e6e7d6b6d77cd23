import { type DynamicModule, Module, type OnApplicationShutdown } from '@nestjs/common';
import { registerHealth } from '../health.js';
import { IdentityFile } from './identity-file.js';

/** Who there is, as the identity file says. A service that cannot read its identity file is not ready. */
@Module({})
export class AuthModule implements OnApplicationShutdown {
  readonly #unregister: () => void;

  constructor(identities: IdentityFile) {
    this.#unregister = registerHealth('identities', () => identities.check());
  }

  static forRoot(path: string): DynamicModule {
    return {
      module: AuthModule,
      providers: [{ provide: IdentityFile, useFactory: () => new IdentityFile(path) }],
      exports: [IdentityFile],
    };
  }

  onApplicationShutdown(): void {
    this.#unregister();
  }
}
