import { JetStreamServer } from '@holdpoint/eventing';
import { configOrExit, startService } from '@holdpoint/runtime';
import { AgentEngineModule } from './agent-engine.module.js';
import { engineConfig } from './config.js';

const config = configOrExit('agent-engine', engineConfig);
await startService({
  name: 'agent-engine',
  module: AgentEngineModule.forRoot(config),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
