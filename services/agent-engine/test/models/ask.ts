import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { Logger } from '@nestjs/common';
import type { AgentDeclaration } from '../../src/config.js';
import type { Turn } from '../../src/domain/conversation.js';
import { agentModels } from '../../src/models/agent-model.js';
import { ModelFailure } from '../../src/models/failure.js';
import { modelConfig } from '../../src/models/settings.js';
import { promptOf, type Round } from '../../src/run/round.js';
import type { Wire } from './wire.js';

// the failures here are meant
Logger.overrideLogger(false);

export const KEY = 'sk-test-0123456789abcdef';

const tools: LanguageModelV4FunctionTool[] = [
  {
    type: 'function',
    name: 'FileRW',
    description: 'Files.',
    inputSchema: { type: 'object', properties: { action: { type: 'string' } }, additionalProperties: false },
  },
];

export const modelFor = (wire: Wire, url: string, env: Record<string, string> = {}, id = 'test-model') => {
  const at = wire.format === 'openai' ? 'OPENAI' : 'ANTHROPIC';
  const config = modelConfig.parse({
    [`${at}_BASE_URL`]: url,
    [`${at}_API_KEY`]: KEY,
    MODEL_RETRY_MS: '1',
    MODEL_ATTEMPTS: '3',
    ...env,
  });
  const agent: AgentDeclaration = {
    name: 'helper',
    space: 'acme',
    model: `${wire.format}/${id}`,
    system: '',
    tools: [],
    maxSteps: 3,
    compactAfterTokens: 100_000,
    language: 'en',
  };
  const model = agentModels([agent], config).get('helper');
  if (!model) throw new Error('no model');
  return model;
};

export const HELLO: Turn[] = [{ role: 'user', text: 'Hello' }];

export const ask = (
  model: ReturnType<typeof modelFor>,
  turns: Turn[] = HELLO,
  signal = new AbortController().signal,
): Promise<Round> => model.ask(promptOf('You help.', turns), tools, signal);

/** How asking failed. @throws when it did not */
export const failureFrom = async (asked: Promise<Round>): Promise<ModelFailure> => {
  const error = await asked.then(
    (round) => new Error(`it answered ${JSON.stringify(round)}`),
    (e: unknown) => e,
  );
  if (error instanceof ModelFailure) return error;
  throw error;
};
