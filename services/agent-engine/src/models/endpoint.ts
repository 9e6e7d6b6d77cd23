import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { FaithfulModel } from './faithful.js';
import type { ModelConfig } from './settings.js';
import { transport } from './transport.js';

const OPENAI = 'https://api.openai.com/v1';
const ANTHROPIC = 'https://api.anthropic.com/v1';

/**
 * A model behind an endpoint, by its name: `openai/<id>` or `anthropic/<id>`.
 * @throws naming the agent and the variable that it needs and does not have
 */
export function endpointModel(
  agent: string,
  name: string,
  config: ModelConfig,
  scrub: (text: string) => string,
): LanguageModelV4 {
  const id = name.slice(name.indexOf('/') + 1);
  const fetch = transport({ silenceMs: config.MODEL_SILENCE_MS, answerMs: config.MODEL_ANSWER_MS });
  const needs = (what: string) => new Error(`agent ${agent} uses the model ${name}: ${what}`);
  const maxOutputTokens = config.MODEL_MAX_OUTPUT_TOKENS;
  const limited = (o: LanguageModelV4CallOptions) => (maxOutputTokens === undefined ? o : { ...o, maxOutputTokens });

  if (name.startsWith('openai/')) {
    const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey } = config;
    if (baseURL === undefined && apiKey === undefined)
      throw needs('set OPENAI_BASE_URL to its endpoint, or OPENAI_API_KEY to use OpenAI itself');
    const provider = createOpenAICompatible({
      name: 'openai',
      baseURL: baseURL ?? OPENAI,
      ...(apiKey === undefined ? {} : { apiKey }),
      includeUsage: true,
      fetch,
    });
    return new FaithfulModel(provider.chatModel(id), withoutKey(apiKey, scrub), limited);
  }

  const { ANTHROPIC_BASE_URL: baseURL, ANTHROPIC_API_KEY: apiKey } = config;
  if (apiKey === undefined) throw needs('set ANTHROPIC_API_KEY');
  const provider = createAnthropic({ baseURL: versioned(baseURL ?? ANTHROPIC), apiKey, fetch });
  return new FaithfulModel(provider.languageModel(id), withoutKey(apiKey, scrub), (o) =>
    limited({
      ...o,
      prompt: withObjects(o.prompt),
      // a field of Anthropic's own which compatible endpoints refuse, and of no use here: a round is read whole
      providerOptions: { anthropic: { toolStreaming: false } },
    }),
  );
}

const withoutKey = (key: string | undefined, scrub: (text: string) => string) => (text: string) =>
  scrub(key === undefined ? text : text.replaceAll(key, '[key]'));

/** Both spellings of the base URL are about: with the version of the API and without. */
const versioned = (url: string): string => (/^https?:\/\/[^/]+\/?$/.test(url) ? `${url.replace(/\/$/, '')}/v1` : url);

/** Anthropic's wire takes earlier arguments as an object. */
const withObjects = (prompt: LanguageModelV4Prompt): LanguageModelV4Prompt =>
  prompt.map((message) =>
    message.role === 'assistant'
      ? {
          ...message,
          content: message.content.map((part) =>
            part.type === 'tool-call' && typeof part.input === 'string'
              ? { ...part, input: spelledAsIs(part.input) }
              : part,
          ),
        }
      : message,
  );

/** ECMAScript "JSON.parse source text access"; not yet in TypeScript's library. */
const { rawJSON, parse } = JSON as unknown as {
  rawJSON: (text: string) => unknown;
  parse: (text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown) => unknown;
};

/** A value that `JSON.stringify` writes with every number spelled as in `text`: 9007199254740993 stays itself, 1.0 too. */
const spelledAsIs = (text: string): unknown =>
  parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? rawJSON(source) : value,
  );
