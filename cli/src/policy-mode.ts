import { policyMode } from '@holdpoint/contracts';
import { z } from 'zod';
import type { Client } from './client.js';
import { say } from './output.js';

/** Tells a person who would take calls to be held that none is, before anything else. Silent where policy cannot be asked. */
export async function tellOfTrial(client: Client): Promise<void> {
  const rules = await client.get('policy', '/v1/policy/rules', z.object({ mode: policyMode })).catch(() => undefined);
  if (rules?.mode === 'log-only') say('POLICY IS IN LOG-ONLY MODE: nothing is held, every call runs at once.', '');
}
