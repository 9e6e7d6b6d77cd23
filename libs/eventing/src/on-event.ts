import { type ArgumentsHost, applyDecorators, Catch, type ExceptionFilter, UseFilters } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';

/** Identifies the transport to Nest. */
export const JETSTREAM: unique symbol = Symbol('holdpoint.jetstream');

/** Hands a handler's error to the transport as it is; Nest's own filter would flatten it and hide its kind. */
@Catch()
class PassOn implements ExceptionFilter {
  catch(error: unknown, _host: ArgumentsHost): never {
    throw error;
  }
}

/**
 * Feeds a controller's method `(event: HoldpointEvent<…>, ctx: EventContext)` from one of the service's consumers.
 * Its parameters need no decorators. `pattern` is one of `topology[service].consumes` in contracts.
 */
export const OnEvent = (pattern: string): MethodDecorator =>
  applyDecorators(
    (target: object, method: string | symbol) => {
      Payload()(target, method, 0);
      Ctx()(target, method, 1);
    },
    EventPattern<string>(pattern, JETSTREAM),
    UseFilters(PassOn),
  );
