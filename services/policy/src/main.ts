import { JetStreamServer } from '@holdpoint/eventing';
import { loadConfig, orExit, startService } from '@holdpoint/runtime';
import { policyConfig } from './config.js';
import { PolicyModule } from './policy.module.js';
import { DecisionsDatabase } from './store/decisions-database.js';

const config = orExit('policy', () => loadConfig(policyConfig));
await startService({
  name: 'policy',
  module: orExit('policy', () => PolicyModule.forRoot(config)),
  config,
  memberships: (app) => app.get(DecisionsDatabase),
  strategy: (app) => app.get(JetStreamServer),
});
