import { JetStreamServer } from '@holdpoint/eventing';
import { configOrExit, startService } from '@holdpoint/runtime';
import { taskboardConfig } from './config.js';
import { TaskboardModule } from './taskboard.module.js';

const config = configOrExit('taskboard', taskboardConfig);
await startService({
  name: 'taskboard',
  module: TaskboardModule.forRoot(config),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
