import { JetStreamServer } from '@holdpoint/eventing';
import { configOrExit, startService } from '@holdpoint/runtime';
import { policyConfig } from './config.js';
import { PolicyModule } from './policy.module.js';

const config = configOrExit('policy', policyConfig);
await startService({
  name: 'policy',
  module: PolicyModule.forRoot(config),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
