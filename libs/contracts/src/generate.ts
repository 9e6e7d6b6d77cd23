import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncApi } from './generate/asyncapi.js';
import { eventsPage } from './generate/events-page.js';
import { jsonSchema } from './generate/json-schema.js';
import { catalogue, eventTypes } from './index.js';

// Writes what outsiders read: generated/<type>.v<version>.json, one JSON Schema (2020-12) an event; generated/asyncapi.json;
// docs/events.md. The test command runs this and fails on a difference.
const root = join(import.meta.dirname, '..', '..', '..', '..');
const dir = join(root, 'libs', 'contracts', 'generated');
const json = (document: object): string => `${JSON.stringify(document, null, 2)}\n`;

mkdirSync(dir, { recursive: true });
for (const stale of readdirSync(dir)) rmSync(join(dir, stale));
for (const type of eventTypes)
  writeFileSync(join(dir, `${type}.v${catalogue[type].version}.json`), json(jsonSchema(type)));
writeFileSync(join(dir, 'asyncapi.json'), json(asyncApi()));
writeFileSync(join(root, 'docs', 'events.md'), eventsPage());
