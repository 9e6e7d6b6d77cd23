export { startBus, type TestBus, type TestBusOptions } from './bus.js';
export { type DatabaseRole, type TestDatabase, testDatabase } from './database.js';
export { eventually } from './eventually.js';
export { setUpTestRun } from './setup.js';
export {
  type SentMessage,
  startTelegram,
  type TelegramFault,
  type TelegramUpdate,
  type TestTelegram,
} from './telegram.js';
