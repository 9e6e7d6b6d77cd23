import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** US dollars a million tokens: at most six decimals, so that a token costs a whole number of 10⁻¹² dollars. */
const perMillion = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(z.string().regex(/^\d{1,6}(\.\d{1,6})?$/, 'must be US dollars a million tokens, with at most 6 decimals'))
  .transform((text) => {
    const [whole = '', decimals = ''] = text.split('.');
    return BigInt(`${whole}${decimals.padEnd(6, '0')}`);
  });

const pricing = z.strictObject({
  /** When the prices were looked up. */
  asOf: z.iso.date(),
  note: z.string().default(''),
  models: z.record(
    z.string(),
    z.strictObject({ input: perMillion, cached: perMillion, output: perMillion, cacheWrite: perMillion.optional() }),
  ),
});

/** What one token costs, in 10⁻¹² US dollars. `cacheWrite` is absent where the provider charges nothing extra. */
export type Price = z.infer<typeof pricing>['models'][string];

/** Prices by the model's whole name. A model that no file names has no price: none is ever guessed from a likeness. */
export class Prices {
  readonly #models: ReadonlyMap<string, Price>;

  /** @param own a file whose prices come before the list prices. @throws naming file and field */
  constructor(own?: string) {
    const files = own === undefined ? [listPrices()] : [listPrices(), own];
    this.#models = new Map(files.flatMap((file) => Object.entries(read(file))));
  }

  of(model: string): Price | undefined {
    return model === 'scripted' ? FREE : this.#models.get(model);
  }
}

const FREE: Price = { input: 0n, cached: 0n, output: 0n };

const listPrices = (): string => join(dirname(findPackageJSON(import.meta.url) as string), 'pricing.yaml');

function read(file: string): Record<string, Price> {
  const parsed = pricing.safeParse(parse(readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data.models;
  const issue = parsed.error.issues[0];
  throw new Error(`${file}: ${issue?.path.join('.')}: ${issue?.message}`);
}
