import type { Identity } from '@holdpoint/contracts';
import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';

const IS_PUBLIC = 'holdpoint:public';
const SERVICES_ONLY = 'holdpoint:services-only';

/** The route answers anybody. For health and metrics alone; a test lists every route that does. */
export const Public = () => SetMetadata(IS_PUBLIC, true);

/** The route is for these services, or for every service when none is named; never for a person. */
export const ServicesOnly = (...ids: string[]) => SetMetadata(SERVICES_ONLY, ids);

export const routeAccess = { IS_PUBLIC, SERVICES_ONLY };

// Keyed by the request, so that nothing a client sends can stand in for an identity.
const identities = new WeakMap<object, Identity>();

export const admit = (request: object, who: Identity): void => {
  identities.set(request, who);
};

/** The identity that the request's token proved. */
export const Who = createParamDecorator((_: unknown, context: ExecutionContext): Identity => {
  const who = identities.get(context.switchToHttp().getRequest<object>());
  if (who === undefined) throw new Error('@Who() on a route without identity');
  return who;
});
