import { policyMode } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Client } from './client.js';
import { say } from './output.js';

/** Tells a person who would wait for calls to be held that none is. Silent where policy cannot be asked. */
export async function tellOfTrial(client: Client): Promise<void> {
  const rules = await client.get('policy', '/v1/policy/rules', z.object({ mode: policyMode })).catch(() => undefined);
  if (rules?.mode === 'log-only') say('', 'Policy is in log-only mode: nothing is held.');
}
