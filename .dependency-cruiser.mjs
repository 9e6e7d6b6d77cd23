const spec = '\\.spec\\.ts$|/test/|^libs/testing/|^e2e/';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'contracts-need-zod-only',
      severity: 'error',
      from: { path: '^libs/contracts/src', pathNot: `${spec}|^libs/contracts/src/generate\\.ts$` },
      to: { pathNot: '^libs/contracts/|node_modules/(\\.pnpm/)?zod' },
    },
    {
      name: 'runtime-needs-contracts-only',
      severity: 'error',
      from: { path: '^libs/runtime/src', pathNot: spec },
      to: { path: '^(libs|services|deploy|cli|e2e)/', pathNot: '^libs/(runtime|contracts)/' },
    },
    {
      name: 'eventing-needs-contracts-and-runtime',
      severity: 'error',
      from: { path: '^libs/eventing/src', pathNot: spec },
      to: { path: '^(libs|services|deploy|cli|e2e)/', pathNot: '^libs/(eventing|runtime|contracts)/' },
    },
    {
      name: 'a-service-needs-libs-and-itself',
      severity: 'error',
      from: { path: '^services/([^/]+)/(src|migrations)', pathNot: spec },
      to: { path: '^(libs|services|deploy|cli|e2e)/', pathNot: '^libs/(contracts|runtime|eventing)/|^services/$1/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^services/([^/]+)/src/domain/', pathNot: spec },
      to: { pathNot: '^libs/contracts/|^services/$1/src/domain/|node_modules/(\\.pnpm/)?zod' },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { pathNot: spec },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'cli-needs-contracts-only',
      severity: 'error',
      from: { path: '^cli/src', pathNot: spec },
      to: { path: '^(libs|services|deploy|e2e)/', pathNot: '^libs/contracts/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@holdpoint/source', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs'],
    },
  },
};
