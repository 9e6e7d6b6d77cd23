import type { DatabasePasswords } from '@holdpoint/provision';

/** Carries `TestEnvironment` as JSON from the run's set-up to its test files. */
export const ENVIRONMENT = 'HOLDPOINT_TEST_ENVIRONMENT';

export interface TestEnvironment {
  /** Scratch folder of the run. */
  dir: string;
  /** The superuser's URL. */
  postgres: string;
  /** Database with every migration applied. */
  template: string;
  passwords: DatabasePasswords;
}

/** @throws when the test run was started without its set-up. */
export function testEnvironment(): TestEnvironment {
  const json = process.env[ENVIRONMENT];
  if (!json) throw new Error('no test services: run this test through the jest.config.mjs at the root');
  return JSON.parse(json) as TestEnvironment;
}
