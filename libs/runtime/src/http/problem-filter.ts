import { randomUUID } from 'node:crypto';
import type { Problem } from '@holdpoint/contracts';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { isInfrastructureFault } from '../faults.js';
import { ContentDestroyed } from '../keyring/keyring.js';
import { Refusal } from '../refusal.js';
import { PROBLEM_TYPE, plainProblem, refusalProblem } from './problem.js';

/** The one place that knows HTTP statuses: whatever was thrown, the answer is problem+json (RFC 9457). */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #log = new Logger('Http');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    // Too late for a problem: the client must see that the answer is incomplete.
    if (reply.sent || reply.raw.headersSent) {
      this.#log.error(thrown);
      reply.raw.destroy();
      return;
    }
    const problem = this.#problemOf(thrown);
    if (problem.status === 401) void reply.header('www-authenticate', challenge(problem.code));
    if (problem.status === 503) void reply.header('retry-after', '2');
    void reply.status(problem.status).header('content-type', PROBLEM_TYPE).send(JSON.stringify(problem));
  }

  #problemOf(thrown: unknown): Problem {
    if (thrown instanceof Refusal) {
      if (thrown.cause !== undefined) this.#log.warn(thrown.kind === 'unavailable' ? oneLine(thrown) : thrown);
      return refusalProblem(thrown);
    }
    if (thrown instanceof HttpException && thrown.getStatus() < 500) return plainProblem(thrown.getStatus());
    if (thrown instanceof ContentDestroyed)
      return refusalProblem(
        new Refusal('gone', 'content.destroyed', 'This content was erased on purpose and cannot be brought back.'),
      );
    if (nulCharacter.has(String((thrown as { code?: unknown } | null)?.code)))
      return refusalProblem(
        new Refusal('invalid', 'request.nul-character', 'Text here cannot hold the NUL character (U+0000); remove it.'),
      );
    if (isInfrastructureFault(thrown)) {
      this.#log.warn(thrown);
      return refusalProblem(
        new Refusal(
          'unavailable',
          'service.unavailable',
          'Something this service depends on is away; try again shortly.',
        ),
      );
    }
    return this.#internal(thrown);
  }

  #internal(thrown: unknown): Problem {
    const reference = randomUUID();
    this.#log.error(`internal error ${reference}`, thrown);
    return {
      type: 'urn:holdpoint:problem:internal',
      title: 'Internal Server Error',
      status: 500,
      detail: `The service failed. Look before you repeat it: it may have been done. The operator finds the cause under ${reference}.`,
      instance: `urn:uuid:${reference}`,
      code: 'internal',
    };
  }
}

/** What is away is no fault of the code that asked: where it asked tells nothing. */
const oneLine = ({ message, cause }: Refusal): string =>
  `${message} (${cause instanceof Error ? cause.message : String(cause)})`;

/** SQLSTATEs of text and of JSON that PostgreSQL cannot store. */
const nulCharacter = new Set(['22021', '22P05']);

/** RFC 6750, section 3. */
const challenge = (code: string): string =>
  `Bearer realm="holdpoint"${code === 'auth.token-missing' ? '' : ', error="invalid_token"'}`;
