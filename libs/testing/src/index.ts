export { startBus, type TestBus, type TestBusOptions } from './bus.js';
export { type DatabaseRole, type TestDatabase, testDatabase } from './database.js';
export { eventually } from './eventually.js';
export { type TestIssuer, type TestIssuerOptions, testIssuer } from './issuer.js';
export { setUpTestRun } from './setup.js';
