import { JetStreamServer } from '@holdpoint/eventing';
import { loadConfig, orExit, startService } from '@holdpoint/runtime';
import { AgentEngineModule } from './agent-engine.module.js';
import { engineConfig } from './config.js';

const config = orExit('agent-engine', () => loadConfig(engineConfig));
await startService({
  name: 'agent-engine',
  module: orExit('agent-engine', () => AgentEngineModule.forRoot(config)),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
