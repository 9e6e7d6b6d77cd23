import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { eventsPage } from '../src/generate/events-page.js';
import { catalogue, eventTypes } from '../src/index.js';

const page = eventsPage();
const sectionOf = (type: string): string => page.split(`\n## ${type}\n`)[1]?.split('\n## ')[0] ?? '';

test('each event has a section with what its declaration says, and each link within the page has a heading', () => {
  for (const type of eventTypes) {
    expect(sectionOf(type)).toContain(catalogue[type].when);
    expect(sectionOf(type)).toContain(`**Published by:** ${catalogue[type].publisher}`);
  }
  const anchors = [...page.matchAll(/^## (.*)$/gm)].map(
    ([, h]) =>
      `#${h
        ?.toLowerCase()
        .replace(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-')}`,
  );
  for (const [, to] of page.matchAll(/\]\((#[^)]*)\)/g)) expect(anchors).toContain(to);
});

test('consumers are those of the topology', () => {
  expect(sectionOf('tool.executed')).toContain('**Consumed by:** staging, taskboard, audit\n');
  expect(sectionOf('policy.decided')).toContain('**Consumed by:** staging, audit; told at once: agent-engine\n');
});

test('the committed page is this one', () => {
  const file = join(import.meta.dirname, '..', '..', '..', 'docs', 'events.md');
  expect(readFileSync(file, 'utf8')).toBe(page);
});
