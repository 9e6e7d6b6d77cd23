import { JetStreamServer } from '@holdpoint/eventing';
import { configOrExit, startService } from '@holdpoint/runtime';
import { stagingConfig } from './config.js';
import { StagingModule } from './staging.module.js';

const config = configOrExit('staging', stagingConfig);
await startService({
  name: 'staging',
  module: StagingModule.forRoot(config),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
