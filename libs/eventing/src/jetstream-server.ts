import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { JETSTREAM } from './on-event.js';

export class JetStreamServer extends Server implements CustomTransportStrategy {
  override readonly transportId = JETSTREAM;
  override readonly propagatesEventHandlerErrors = true;
  listen(_done: (err?: unknown) => void): Promise<void> {
    throw new Error('being written');
  }
  close(): Promise<void> {
    throw new Error('being written');
  }
  on(): never {
    throw new Error('the transport emits no events');
  }
  unwrap<T>(): T {
    return this as unknown as T;
  }
}
