import type { IncomingHttpHeaders } from 'node:http';
import type { Identity } from '@holdpoint/contracts';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Refusal } from '../refusal.js';
import type { IdentityFile } from './identity-file.js';
import { admit, routeAccess } from './routes.js';

/** Stands before every route: a bearer token that the identity file knows, or 401. */
export class AuthGuard implements CanActivate {
  readonly #reflector = new Reflector();

  constructor(private readonly identities: IdentityFile) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const route = [context.getHandler(), context.getClass()];
    if (this.#reflector.getAllAndOverride<boolean>(routeAccess.IS_PUBLIC, route) === true) return true;
    const request = context.switchToHttp().getRequest<{ headers: IncomingHttpHeaders }>();
    const { authorization } = request.headers;
    const who = await this.#identify(authorization);
    const services = this.#reflector.getAllAndOverride<string[]>(routeAccess.SERVICES_ONLY, route);
    if (services !== undefined && (who.kind !== 'service' || (services.length > 0 && !services.includes(who.id))))
      throw new Refusal('forbidden', 'auth.services-only', 'This route is for services of the system, not for you.');
    admit(request, who, () => this.#identify(authorization));
    return true;
  }

  async #identify(authorization: string | undefined): Promise<Identity> {
    const who = await this.identities.find(bearerToken(authorization));
    if (who === null)
      throw new Refusal(
        'unauthenticated',
        'auth.token-unknown',
        'The bearer token is not known here; ask the operator for a valid one.',
      );
    return who;
  }
}

function bearerToken(header: string | undefined): string {
  const token = /^bearer +([\w.~+/-]+=*)$/i.exec(header ?? '')?.[1];
  if (token === undefined)
    throw new Refusal('unauthenticated', 'auth.token-missing', 'Send your token as `Authorization: Bearer <token>`.');
  return token;
}
