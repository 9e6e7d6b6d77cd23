import { type ArgumentsHost, applyDecorators, Catch, type ExceptionFilter, UseFilters } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';

export const JETSTREAM = Symbol('holdpoint.jetstream');

/** Hands a handler's error to the transport as it is; Nest's own filter would flatten it and lose its kind. */
@Catch()
class PassOn implements ExceptionFilter {
  catch(error: unknown, _host: ArgumentsHost): never {
    throw error;
  }
}

/** Binds a handler `(event, ctx: EventContext)` to one of its service's consumers, by the pattern in contracts' topology. */
export const OnEvent = (pattern: string): MethodDecorator =>
  applyDecorators(
    (target: object, key: string | symbol) => {
      Payload()(target, key, 0);
      Ctx()(target, key, 1);
    },
    EventPattern<string>(pattern, JETSTREAM),
    UseFilters(PassOn),
  );
