// For an engine of one's own: the same module, with more or other tools.
export { AgentEngineModule } from './agent-engine.module.js';
export { engineConfig } from './config.js';
export { builtinTools } from './tools/catalogue.js';
export {
  defineAction,
  didNotHappen,
  done,
  mayNotBegin,
  type Tool,
  type ToolContext,
  type ToolOutcome,
  unknown,
} from './tools/tool.js';
