import { AgentEngineModule, engineConfig } from '@holdpoint/agent-engine';
import { JetStreamServer } from '@holdpoint/eventing';
import { loadConfig, orExit, startService } from '@holdpoint/runtime';
import { standIns } from './stand-ins.js';
import { readSuites } from './suite.js';

// The engine as it is, with the tools of a recorded suite in place of its own.
const { tools } = await readSuites(process.env['HOLDPOINT_REPLAY_FILE'] ?? '');
const config = orExit('agent-engine', () => loadConfig(engineConfig));
await startService({
  name: 'agent-engine',
  module: orExit('agent-engine', () =>
    AgentEngineModule.forRoot(config, standIns(tools, process.env['HOLDPOINT_REPLAY_RECORD'] ?? '')),
  ),
  config,
  strategy: (app) => app.get(JetStreamServer),
});
