import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { catalogue, envelope, eventTypes, schemaUri } from './index.js';

// Writes generated/<type>.v<version>.json, one JSON Schema (2020-12) an event. The test command runs this and fails on a difference.
const dir = join(import.meta.dirname, '..', '..', 'generated');
mkdirSync(dir, { recursive: true });
for (const stale of readdirSync(dir)) rmSync(join(dir, stale));
for (const type of eventTypes) {
  const { version, description, data } = catalogue[type];
  const whole = envelope.extend({
    type: z.literal(type),
    dataschema: z.literal(schemaUri(type, version)),
    data: data as z.ZodType,
  });
  const schema = { $id: schemaUri(type, version), title: type, description, ...z.toJSONSchema(whole) };
  writeFileSync(join(dir, `${type}.v${version}.json`), `${JSON.stringify(schema, null, 2)}\n`);
}
