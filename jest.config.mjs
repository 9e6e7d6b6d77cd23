import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = import.meta.dirname;

const swc = [
  '@swc/jest',
  {
    swcrc: false,
    sourceMaps: 'inline',
    module: { type: 'es6' },
    jsc: {
      target: 'es2024',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      keepClassNames: true,
    },
  },
];

const project = (dir) => ({
  displayName: dir,
  rootDir: join(root, dir),
  testEnvironment: 'node',
  testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/**/*.spec.ts'],
  // what takes long is a file of its own: `npm run test:deep`
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/dist/',
    ...(process.env.HOLDPOINT_DEEP ? [] : ['\\.deep\\.spec\\.ts$']),
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': swc },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // packages are tested from their sources, so that a test needs no build of what it tests
  testEnvironmentOptions: { customExportConditions: ['@holdpoint/source', 'node', 'node-addons'] },
});

const inside = (group) =>
  readdirSync(join(root, group), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${group}/${entry.name}`);

export default {
  globalSetup: './tools/jest-services.mjs',
  globalTeardown: './tools/jest-teardown.mjs',
  maxWorkers: 2,
  testTimeout: 60_000,
  projects: [...['libs', 'services', 'deploy'].flatMap(inside), 'cli', 'e2e'].map(project),
};
