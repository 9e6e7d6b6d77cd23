import type { LanguageModelV4, LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Usage } from '@holdpoint/contracts';
import type { Turn } from '../domain/conversation.js';

export interface Round {
  text: string;
  calls: { providerCallId: string; tool: string; input: string; providerExecuted: boolean }[];
  usage: Usage;
}

/**
 * One round of the model, at the provider level and always streamed: that is the only way in which the argument text
 * arrives as it was emitted (charter, section 5).
 * @throws what the stream reports, and when it ends without a finish: half a round is no round.
 */
export async function playRound(
  model: LanguageModelV4,
  prompt: LanguageModelV4Prompt,
  tools: LanguageModelV4FunctionTool[],
  signal: AbortSignal,
): Promise<Round> {
  const { stream } = await model.doStream({ prompt, tools, abortSignal: signal });
  const round: Round = { text: '', calls: [], usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 } };
  let finished = false;
  for await (const part of stream) {
    if (part.type === 'text-delta') round.text += part.delta;
    else if (part.type === 'tool-call')
      round.calls.push({
        providerCallId: part.toolCallId,
        tool: part.toolName,
        input: part.input,
        providerExecuted: part.providerExecuted === true,
      });
    else if (part.type === 'error') throw part.error;
    else if (part.type === 'finish') {
      finished = part.finishReason.unified !== 'interrupted' && part.finishReason.unified !== 'error';
      round.usage = {
        promptTokens: part.usage.inputTokens.total ?? 0,
        completionTokens: part.usage.outputTokens.total ?? 0,
        cachedTokens: part.usage.inputTokens.cacheRead ?? 0,
      };
    }
  }
  if (!finished) throw new Error('the model stream ended before it was complete');
  return round;
}

/** The conversation as a provider takes it. Call inputs are parsed for the wire only; what was frozen is the text. */
export function promptOf(system: string, turns: readonly Turn[]): LanguageModelV4Prompt {
  return [
    ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
    ...turns.map((t): LanguageModelV4Prompt[number] => {
      if (t.role === 'user') return { role: 'user', content: [{ type: 'text', text: t.text }] };
      if (t.role === 'tool')
        return {
          role: 'tool',
          content: t.results.map((r) => ({
            type: 'tool-result',
            toolCallId: r.providerCallId,
            toolName: r.tool,
            output: { type: 'text', value: r.text },
          })),
        };
      return {
        role: 'assistant',
        content: [
          ...(t.text === '' ? [] : [{ type: 'text' as const, text: t.text }]),
          ...t.calls.map((c) => ({
            type: 'tool-call' as const,
            toolCallId: c.providerCallId,
            toolName: c.tool,
            input: inputForProvider(c.input),
          })),
        ],
      };
    }),
  ];
}

function inputForProvider(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { unparsed: text };
  }
}
