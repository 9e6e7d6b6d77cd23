export { startBus, type TestBus, type TestBusOptions } from './bus.js';
export { type DatabaseRole, type TestDatabase, testDatabase } from './database.js';
export { DEEP, sampled } from './deep.js';
export { type Dovecot, startDovecot } from './dovecot.js';
export { eventually } from './eventually.js';
export { type FtpOptions, type FtpServer, startFtp } from './ftp.js';
export { type TestIssuer, type TestIssuerOptions, testIssuer } from './issuer.js';
export {
  CannotRecover,
  loseSchema,
  lostAndRebuilt,
  rebuild,
  rebuildableRows,
  reconcile,
  recoveryOf,
  refill,
  untilQuiet,
} from './recovery.js';
export { setUpTestRun } from './setup.js';
export {
  type SentMessage,
  startTelegram,
  type TelegramFault,
  type TelegramUpdate,
  type TestTelegram,
} from './telegram.js';
