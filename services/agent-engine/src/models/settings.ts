import { z } from 'zod';

/** `scripted`, or a wire format and the model's id at its endpoint. Not longer than provenance takes it. */
export const modelName = z
  .string()
  .max(200)
  .regex(
    /^(scripted|(openai|anthropic)\/[\x21-\x7e]+)$/,
    'must be scripted, openai/<model id> or anthropic/<model id>',
  );

const milliseconds = (fallback: number, max: number) =>
  z.coerce.number().int().min(1).max(max).default(fallback).describe(`a number of milliseconds from 1 to ${max}`);
const baseUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => new URL(url).username === '' && new URL(url).password === '')
  .optional()
  .describe('an http:// or https:// URL without a user in it');

/** What models are asked with. A key is needed only by whom an agent names. */
export const modelConfig = z.object({
  /** Every agent uses this model in place of the declared one. */
  HOLDPOINT_MODEL: modelName.optional().describe('scripted, openai/<model id> or anthropic/<model id>'),
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: z.string().min(1).optional().describe('the key of the OpenAI-compatible endpoint'),
  ANTHROPIC_BASE_URL: baseUrl,
  ANTHROPIC_API_KEY: z.string().min(1).optional().describe('the key of the Anthropic endpoint'),
  /** How often a round is asked for before its run fails. */
  MODEL_ATTEMPTS: z.coerce.number().int().min(1).max(20).default(4).describe('a number from 1 to 20'),
  /** The first pause between two attempts; each one after is twice as long. */
  MODEL_RETRY_MS: milliseconds(500, 60_000),
  /** The longest pause: an endpoint that asks for more is not asked again. */
  MODEL_RETRY_MAX_MS: milliseconds(60_000, 600_000),
  MODEL_SILENCE_MS: milliseconds(120_000, 300_000),
  MODEL_ANSWER_MS: milliseconds(600_000, 3_600_000),
  MODEL_MAX_OUTPUT_TOKENS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('how many tokens an answer may have, 1 to 1000000'),
  /** Prices beside and before the list prices that come with the engine. */
  HOLDPOINT_PRICING: z.string().min(1).optional().describe('the path of a file of prices'),
});
export type ModelConfig = z.infer<typeof modelConfig>;
