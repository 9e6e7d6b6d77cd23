import { JetStreamServer } from '@holdpoint/eventing';
import { loadConfig, orExit, startService } from '@holdpoint/runtime';
import { taskboardConfig } from './config.js';
import { TaskboardModule } from './taskboard.module.js';

const config = orExit('taskboard', () => loadConfig(taskboardConfig));
await startService({
  name: 'taskboard',
  module: orExit('taskboard', () => TaskboardModule.forRoot(config)),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
