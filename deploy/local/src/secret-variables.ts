import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const named = z.object({ secrets: z.record(z.string(), z.object({ env: z.string().optional() })) });

/**
 * Variables that holdpoint.yaml names as secrets: the engine is given them, and no other process. None where the file cannot be
 * read or is wrong, as the engine then says what is wrong with it and does not start.
 */
export function secretVariables(config: string): string[] {
  try {
    const { secrets } = named.parse(parse(readFileSync(config, 'utf8')));
    return Object.values(secrets).flatMap(({ env }) => env ?? []);
  } catch {
    return [];
  }
}
