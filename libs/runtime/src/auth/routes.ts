import type { Identity } from '@holdpoint/contracts';
import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';

const IS_PUBLIC = 'holdpoint:public';
const SERVICES_ONLY = 'holdpoint:services-only';

/** The route answers anybody. For health and metrics alone; a test lists every route that does. */
export const Public = () => SetMetadata(IS_PUBLIC, true);

/** The route is for these services, or for every service when none is named; never for a person. */
export const ServicesOnly = (...ids: string[]) => SetMetadata(SERVICES_ONLY, ids);

export const routeAccess = { IS_PUBLIC, SERVICES_ONLY };

interface Admitted {
  who: Identity;
  again: () => Promise<Identity>;
}
// Keyed by the request, so that nothing a client sends can stand in for an identity.
const admitted = new WeakMap<object, Admitted>();

/** @param again who the request's token proves by then */
export const admit = (request: object, who: Identity, again: () => Promise<Identity>): void => {
  admitted.set(request, { who, again });
};

function admission(context: ExecutionContext): Admitted {
  const found = admitted.get(context.switchToHttp().getRequest<object>());
  if (found === undefined) throw new Error('@Who() on a route without identity');
  return found;
}

/** The identity that the request's token proved. */
export const Who = createParamDecorator((_: unknown, context: ExecutionContext): Identity => admission(context).who);

/**
 * Asks anew, each time it is called, whom the request's token proves: for answers that go on after the request was let in.
 * Rejects with a Refusal once the token is no good.
 */
export const WhoNow = createParamDecorator(
  (_: unknown, context: ExecutionContext): (() => Promise<Identity>) => admission(context).again,
);
