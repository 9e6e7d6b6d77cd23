import type {
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { scanArguments } from '../domain/arguments/scan.js';
import type { Turn, WrittenCall } from '../domain/conversation.js';
import type { RoundUsage } from '../models/bill.js';
import { cutOff, garbled, ModelFailure } from '../models/failure.js';

export interface Round {
  text: string;
  /** `cutOff`: the model was stopped before it said that it had finished, so nothing that it wrote here is acted upon. */
  calls: { providerCallId: string; tool: string; input: string; providerExecuted: boolean; cutOff: boolean }[];
  usage: RoundUsage;
}

/**
 * One round of the model, at the provider level and always streamed: that is the only way in which the argument text
 * arrives as it was emitted (charter, section 5).
 * @throws ModelFailure, also when the stream ends without a finish: half a round is no round.
 */
export async function playRound(
  model: LanguageModelV4,
  prompt: LanguageModelV4Prompt,
  tools: LanguageModelV4FunctionTool[],
  signal: AbortSignal,
): Promise<Round> {
  const { stream } = await model.doStream({ prompt, tools, abortSignal: signal });
  let text = '';
  const calls: Omit<Round['calls'][number], 'cutOff'>[] = [];
  let finish: { reason: string; usage: LanguageModelV4Usage } | undefined;
  for await (const part of stream) {
    if (part.type === 'text-delta') text += part.delta;
    else if (part.type === 'tool-call')
      calls.push({
        providerCallId: part.toolCallId,
        tool: part.toolName,
        input: part.input,
        providerExecuted: part.providerExecuted === true,
      });
    else if (part.type === 'error') throw part.error;
    else if (part.type === 'finish') finish = { reason: part.finishReason.unified, usage: part.usage };
  }
  switch (finish?.reason) {
    case 'stop':
    case 'length':
    case 'other':
      break;
    case 'tool-calls':
      if (calls.length === 0) throw garbled('an answer that speaks of calls and has none');
      break;
    case 'content-filter':
      throw new ModelFailure('model.refused', 'it declined to answer', { mayHaveCost: true });
    default:
      throw cutOff();
  }
  const whole = finish.reason === 'stop' || finish.reason === 'tool-calls';
  return {
    text,
    calls: calls.map((c) => ({ ...c, cutOff: !whole })),
    usage: usageOf(finish.usage, text !== '' || calls.length > 0),
  };
}

/** More in one round than any model takes: the number of an endpoint that counts wrongly. */
const IMPLAUSIBLE = 100_000_000;

/** Counts that cannot be right count as nothing, and leave the usage incomplete. */
function usageOf(usage: LanguageModelV4Usage, wrote: boolean): RoundUsage {
  const { inputTokens: prompt, outputTokens: completion } = usage;
  const fits = (n: number | undefined): n is number =>
    Number.isInteger(n) && (n as number) >= 0 && (n as number) < IMPLAUSIBLE;
  const count = (n: number | undefined) => (fits(n) ? n : 0);
  const promptTokens = count(prompt.total);
  const completionTokens = count(completion.total);
  const cachedTokens = Math.min(count(prompt.cacheRead), promptTokens);
  const writtenTokens = Math.min(count(prompt.cacheWrite), promptTokens - cachedTokens);
  const asSaid = cachedTokens === (prompt.cacheRead ?? 0) && writtenTokens === (prompt.cacheWrite ?? 0);
  // a prompt is never empty, and what was written took tokens: a nought there stands for "not said"
  const complete = promptTokens > 0 && fits(completion.total) && (completionTokens > 0 || !wrote) && asSaid;
  return { promptTokens, completionTokens, cachedTokens, writtenTokens, complete };
}

/** Ids that both wire formats take. */
const WIRE_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/**
 * The conversation as a provider takes it. Arguments go back as the text that they came as. A call keeps the id that its
 * provider gave it, as some take no other, unless that was used before: providers count anew in each round.
 */
export function promptOf(system: string, turns: readonly Turn[]): LanguageModelV4Prompt {
  const used = new Set<string>();
  let open: { call: WrittenCall; id: string }[] = [];
  const idFor = (call: WrittenCall): string => {
    const id = WIRE_ID.test(call.providerCallId) && !used.has(call.providerCallId) ? call.providerCallId : call.callId;
    used.add(id);
    return id;
  };
  /** Of several calls with one id in a round the results come in their order. */
  const idOfResult = (providerCallId: string): string => {
    const at = open.findIndex(({ call }) => call.providerCallId === providerCallId);
    return at < 0 ? providerCallId : (open.splice(at, 1)[0]?.id as string);
  };
  const message = (t: Turn): LanguageModelV4Prompt[number] => {
    if (t.role === 'user') return { role: 'user', content: [{ type: 'text', text: t.text.toWellFormed() }] };
    if (t.role === 'tool')
      return {
        role: 'tool',
        content: t.results.map((r) => ({
          type: 'tool-result',
          toolCallId: idOfResult(r.providerCallId),
          toolName: r.tool,
          output: { type: 'text', value: r.text.toWellFormed() },
        })),
      };
    open = t.calls.map((call) => ({ call, id: idFor(call) }));
    return {
      role: 'assistant',
      content: [
        ...(t.text === '' ? [] : [{ type: 'text' as const, text: t.text.toWellFormed() }]),
        ...open.map(({ call, id }) => ({
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: call.tool,
          input: textForProvider(call.input),
        })),
      ],
    };
  };
  return [...(system === '' ? [] : [{ role: 'system' as const, content: system }]), ...turns.map(message)];
}

/** Providers refuse a conversation with arguments that are no JSON object; what was refused here is quoted to them in one. */
const textForProvider = (text: string): string =>
  scanArguments(text).ok ? text : JSON.stringify({ unparsed: text.toWellFormed() });
