import { JetStreamServer } from '@holdpoint/eventing';
import { loadConfig, startService } from '@holdpoint/runtime';
import { taskboardConfig } from './config.js';
import { TaskboardModule } from './taskboard.module.js';

const config = loadConfig(taskboardConfig);
await startService({
  name: 'taskboard',
  module: TaskboardModule.forRoot(config),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
