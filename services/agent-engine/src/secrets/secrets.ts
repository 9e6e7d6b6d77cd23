import { type KnownSecret, KnownSecrets } from '@holdpoint/runtime';
import { referencesIn, referenceTo, resolveReferences } from '../domain/references.js';
import type { ToolAction } from '../tools/tool.js';
import type { DeclaredSecret, SecretPlace } from './declared.js';

/** A reference that may not stand where it stands. */
export interface MisplacedReference {
  field: string;
  /** Null when it is not even spelled as one. */
  name: string | null;
  /** What may be referred to there. */
  allowed: string[];
}

type Action = Pick<ToolAction, 'name' | 'secretFields'>;

/**
 * The values that this engine knows and nobody else may: the configured secrets, and its own credentials. Values leave this
 * class in one way, `resolve`, into the arguments of a tool that is about to run.
 */
export class Secrets {
  readonly #declared: ReadonlyMap<string, DeclaredSecret>;
  readonly #known: KnownSecrets;

  /** @param own credentials of the engine, which nothing may refer to */
  constructor(declared: readonly DeclaredSecret[], own: readonly KnownSecret[]) {
    this.#declared = new Map(declared.map((d) => [d.name, d]));
    this.#known = new KnownSecrets([
      ...declared.map(({ name, value }) => ({ name, value, label: referenceTo(name) })),
      ...own.map((o) => ({ ...o, name: '' })),
    ]);
  }

  /** Whose values the text holds, in whatever spelling: names of configured secrets, and `''` for credentials of the engine. */
  find(text: string): string[] {
    return this.#known.find(text);
  }

  scrub(text: string): string {
    return this.#known.scrub(text);
  }

  /** Where a reference to each of these may stand; the others must not be used at all. */
  usable(names: readonly string[]): { name: string; places: SecretPlace[] }[] {
    return names.flatMap((name) => {
      const places = this.#declared.get(name)?.allow ?? [];
      return places.length === 0 ? [] : [{ name, places }];
    });
  }

  /** Names that may be referred to there. */
  allowed(tool: string, action: string, field: string): string[] {
    return [...this.#declared.values()]
      .filter((d) => d.allow.some((p) => p.tool === tool && p.action === action && p.field === field))
      .map((d) => d.name);
  }

  /** The first reference of checked arguments that may not stand where it stands. Only declared fields are looked at. */
  misplaced(tool: string, action: Action, args: unknown): MisplacedReference | undefined {
    for (const [field, text] of fieldsOf(action, args)) {
      const allowed = this.allowed(tool, action.name, field);
      for (const name of referencesIn(text))
        if (name === null || !allowed.includes(name)) return { field, name, allowed };
    }
    return undefined;
  }

  /**
   * The arguments with values in the place of references, in declared fields alone; the very arguments where there are none.
   * @throws when a reference may not stand where it stands
   */
  resolve<A>(tool: string, action: Action, args: A): A {
    if (this.misplaced(tool, action, args)) throw new MisplacedReferenceError();
    const resolved = [...fieldsOf(action, args)].flatMap(([field, text]) => {
      const value = resolveReferences(text, (name) => this.#declared.get(name)?.value ?? '');
      return value === text ? [] : [[field, value] as const];
    });
    return resolved.length === 0 ? args : Object.assign(Object.create(null), args, Object.fromEntries(resolved));
  }
}

export class MisplacedReferenceError extends Error {
  constructor() {
    super('A secret that it refers to may not be used there any more. Nothing was done.');
  }
}

function* fieldsOf({ secretFields = [] }: Action, args: unknown): Generator<[field: string, text: string]> {
  for (const field of secretFields as readonly string[]) {
    const value: unknown = typeof args === 'object' && args !== null ? Reflect.get(args, field) : undefined;
    if (typeof value === 'string') yield [field, value];
  }
}
