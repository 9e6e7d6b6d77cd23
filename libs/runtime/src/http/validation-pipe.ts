import { type ArgumentMetadata, StandardSchemaValidationPipe } from '@nestjs/common';
import { type FieldError, Refusal } from '../refusal.js';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  /** zod reports unknown keys on the object that holds them. */
  readonly keys?: readonly string[];
}

class Mismatch {
  constructor(readonly issues: readonly Issue[]) {}
}

const MOST_ERRORS = 50;

/**
 * Holds each body, query and path parameter against the schema that its decorator names; the handler gets what the schema
 * made of it. One without a schema is a fault of the route: nothing reaches a handler unchecked.
 */
export class ValidationPipe extends StandardSchemaValidationPipe {
  constructor() {
    super({ exceptionFactory: (issues) => new Mismatch(issues) });
  }

  override async transform<T>(value: T, metadata: ArgumentMetadata): Promise<T> {
    if (metadata.type !== 'custom' && metadata.schema === undefined)
      throw new Error(`a route takes its ${metadata.type} ${metadata.data ?? ''} without a schema`);
    try {
      return await super.transform(value, metadata);
    } catch (thrown) {
      if (thrown instanceof Mismatch) throw refusalOf(thrown.issues, metadata);
      throw thrown;
    }
  }
}

function refusalOf(issues: readonly Issue[], metadata: ArgumentMetadata): Refusal {
  const errors: FieldError[] = [];
  for (const issue of issues) {
    const path = [metadata.data, ...(issue.path ?? []).map((p) => (typeof p === 'object' ? p.key : p))].filter(
      (p) => p !== undefined,
    );
    if (issue.keys === undefined) errors.push({ field: fieldOf(path) || metadata.type, message: issue.message });
    else for (const key of issue.keys) errors.push({ field: fieldOf([...path, key]), message: 'is not a field here' });
  }
  return new Refusal('invalid', 'request.invalid', 'Correct the fields named in `errors` and send the request again.', {
    errors: errors.slice(0, MOST_ERRORS),
  });
}

const fieldOf = (path: readonly PropertyKey[]): string => path.map(String).join('.').slice(0, 200);
