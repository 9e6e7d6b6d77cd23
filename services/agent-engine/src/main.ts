import { JetStreamServer } from '@holdpoint/eventing';
import { loadConfig, startService } from '@holdpoint/runtime';
import { AgentEngineModule } from './agent-engine.module.js';
import { engineConfig } from './config.js';

const config = loadConfig(engineConfig);
await startService({
  name: 'agent-engine',
  module: AgentEngineModule.forRoot(config),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
