import { type DynamicModule, type INestApplication, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthGuard } from '../auth/auth-guard.js';
import { AuthModule } from '../auth/auth-module.js';
import { Authenticator } from '../auth/authenticator.js';
import { IdentityFile } from '../auth/identity-file.js';
import { type Memberships, policyMemberships } from '../auth/memberships.js';
import { type OidcConfig, openTokenVerifier } from '../auth/oidc/settings.js';
import { type BaseConfig, ConfigError } from '../config.js';
import { ProblemFilter } from '../http/problem-filter.js';
import { ValidationPipe } from '../http/validation-pipe.js';
import { HealthController } from './health-controller.js';
import { JsonLogger } from './json-logger.js';
import { MetricsController } from './metrics-controller.js';
import { Phase } from './phase.js';
import { webServer } from './web-server.js';

/** What the framework calls a custom transport strategy. */
export interface Transport {
  listen(callback: (...args: unknown[]) => unknown): unknown;
  close(): unknown;
}

export interface ServiceOptions {
  name: string;
  module: Type | DynamicModule;
  config: Pick<BaseConfig, 'HOST' | 'PORT' | 'HOLDPOINT_IDENTITY_FILE' | 'LOG_LEVEL'> &
    OidcConfig &
    Partial<Pick<BaseConfig, 'POLICY_URL' | 'HOLDPOINT_SERVICE_TOKEN'>>;
  /** Where people's roles stand, for the service that keeps them itself; every other one asks policy at `POLICY_URL`. */
  memberships?: (app: INestApplication) => Memberships;
  /** Delivers events to the service. A function is given the application and may take it from there. */
  strategy?: Transport | ((app: INestApplication) => Transport);
  /** How long `startService` lets work in hand take when it is told to stop; 10,000 ms unless given. */
  drainMs?: number;
}

@Module({ controllers: [HealthController, MetricsController], providers: [Phase] })
class ServiceRoot {}

/**
 * A service that listens and consumes, with no hold on the process: guard, validation and problems on every route,
 * `/healthz` and `/readyz`. For tests, which close it themselves; a process uses `startService`.
 * @throws what hindered it, after closing what was open
 */
export async function createService(options: ServiceOptions): Promise<INestApplication> {
  return openService(await buildService(options), options);
}

/** Everything is wired and nothing is open: no port, no consumer. */
export async function buildService(options: ServiceOptions): Promise<INestApplication> {
  const { name, module, config } = options;
  const tokens = await openTokenVerifier(config);
  const memberships = tokens && (options.memberships ?? askingPolicy(config));
  const root: DynamicModule = {
    module: ServiceRoot,
    imports: [module, AuthModule.forRoot(config.HOLDPOINT_IDENTITY_FILE)],
  };
  const app = await NestFactory.create(root, webServer(), {
    logger: new JsonLogger(name, config.LOG_LEVEL),
    abortOnError: false,
    bodyParser: false,
  });
  const people = tokens && memberships && { tokens, memberships: memberships(app) };
  app.useGlobalGuards(new AuthGuard(new Authenticator(app.get(IdentityFile), people)));
  app.useGlobalPipes(new ValidationPipe());
  app.useGlobalFilters(new ProblemFilter());
  return app;
}

function askingPolicy({ POLICY_URL, HOLDPOINT_SERVICE_TOKEN }: ServiceOptions['config']): () => Memberships {
  if (POLICY_URL === undefined || HOLDPOINT_SERVICE_TOKEN === undefined)
    throw new ConfigError(
      new Map([['POLICY_URL', 'is not set: with OIDC_ISSUER it must be the URL of the policy service']]),
    );
  return () => policyMemberships(POLICY_URL, HOLDPOINT_SERVICE_TOKEN);
}

/** Takes requests, then events. Closes the application when it fails. */
export async function openService(app: INestApplication, options: ServiceOptions): Promise<INestApplication> {
  const { config, strategy } = options;
  try {
    if (strategy !== undefined)
      app.connectMicroservice({ strategy: typeof strategy === 'function' ? strategy(app) : strategy });
    await app.listen(config.PORT, config.HOST);
    await app.startAllMicroservices();
    app.get(Phase).now = 'ready';
    return app;
  } catch (err) {
    await app.close().catch(() => undefined);
    throw err;
  }
}
