import type { IncomingHttpHeaders } from 'node:http';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Refusal } from '../refusal.js';
import type { Authenticator } from './authenticator.js';
import { admit, routeAccess } from './routes.js';

/** Stands before every route: credentials that prove somebody, or 401. */
export class AuthGuard implements CanActivate {
  readonly #reflector = new Reflector();

  constructor(private readonly authenticator: Authenticator) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const route = [context.getHandler(), context.getClass()];
    if (this.#reflector.getAllAndOverride<boolean>(routeAccess.IS_PUBLIC, route) === true) return true;
    const request = context.switchToHttp().getRequest<{ headers: IncomingHttpHeaders }>();
    const who = await this.authenticator.identify(request.headers);
    const services = this.#reflector.getAllAndOverride<string[]>(routeAccess.SERVICES_ONLY, route);
    if (services !== undefined && (who.kind !== 'service' || (services.length > 0 && !services.includes(who.id))))
      throw new Refusal('forbidden', 'auth.services-only', 'This route is for services of the system, not for you.');
    admit(request, who, () => this.authenticator.identify(request.headers));
    return true;
  }
}
