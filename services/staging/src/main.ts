import { JetStreamServer } from '@holdpoint/eventing';
import { loadConfig, orExit, startService } from '@holdpoint/runtime';
import { stagingConfig } from './config.js';
import { StagingModule } from './staging.module.js';

const config = orExit('staging', () => loadConfig(stagingConfig));
await startService({
  name: 'staging',
  module: orExit('staging', () => StagingModule.forRoot(config)),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
