import { type Attributes, errorType, inSpan, type Span, SpanKind } from '@holdpoint/runtime';
import { ModelFailure } from './models/failure.js';
import type { Round } from './run/round.js';
import type { Claim } from './store/executions.js';
import type { RunRow } from './store/runs.js';

/**
 * The engine's spans, by OpenTelemetry's conventions for generative AI. What a model wrote is in none of them, not even a
 * tool's name: only what holdpoint.yaml and the registry declare, our own ids, counts and stable codes.
 */

/** `openai` is whatever speaks its wire format. */
const providerOf = (model: string): string => model.split('/')[0] ?? model;
const idOf = (model: string): string => model.slice(model.indexOf('/') + 1);

/** The playing of a run, in the trace that it was queued in. */
export const runSpan = (run: RunRow, work: (span: Span) => Promise<void>): Promise<void> =>
  inSpan(
    `invoke_agent ${run.agent}`,
    {
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': run.agent,
        'gen_ai.conversation.id': run.conversation_id,
        'gen_ai.provider.name': providerOf(run.model),
        'gen_ai.request.model': idOf(run.model),
        'holdpoint.space.id': run.space_id,
        'holdpoint.run.id': run.run_id,
        'holdpoint.run.source': run.source,
        ...(run.task_id === null ? {} : { 'holdpoint.task.id': run.task_id }),
      },
      parent: run.traceparent,
    },
    work,
  );

/** One time that the model is asked. */
export const roundSpan = (model: string, ask: () => Promise<Round>): Promise<Round> =>
  inSpan(
    `chat ${idOf(model)}`,
    {
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': providerOf(model),
        'gen_ai.request.model': idOf(model),
      },
      fault: (error) => (error instanceof ModelFailure ? error.reason : errorType(error)),
    },
    async (span) => {
      const round = await ask();
      span.setAttributes({
        'gen_ai.usage.input_tokens': round.usage.promptTokens,
        'gen_ai.usage.output_tokens': round.usage.completionTokens,
        'gen_ai.usage.cache_read.input_tokens': round.usage.cachedTokens,
        'holdpoint.round.calls': round.calls.length,
      });
      return round;
    },
  );

const callAttributes = (spaceId: string, callId: string, agent: string): Attributes => ({
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.agent.name': agent,
  'gen_ai.tool.call.id': callId,
  'gen_ai.tool.type': 'function',
  'holdpoint.space.id': spaceId,
  'holdpoint.call.id': callId,
});

/** A call on its way through the gate, as the agent sees it. @param tool null when the agent has none of that name */
export const gateSpan = <T>(
  { spaceId, callId, agent }: { spaceId: string; callId: string; agent: string },
  tool: string | null,
  work: (span: Span) => Promise<T>,
): Promise<T> =>
  inSpan(
    tool === null ? 'execute_tool' : `execute_tool ${tool}`,
    {
      attributes: { ...callAttributes(spaceId, callId, agent), ...(tool === null ? {} : { 'gen_ai.tool.name': tool }) },
    },
    work,
  );

/** One attempt of a claimed call, from the claim to its end. */
export const attemptSpan = <T>({ spaceId, callId, call, held, attempt }: Claim, work: () => Promise<T>): Promise<T> => {
  return inSpan(
    `execute_tool ${call.tool}`,
    {
      attributes: {
        ...callAttributes(spaceId, callId, call.agent),
        'gen_ai.tool.name': call.tool,
        ...(call.action === null ? {} : { 'holdpoint.call.action': call.action }),
        'holdpoint.call.held': held,
        'holdpoint.call.attempt': attempt,
      },
    },
    work,
  );
};

/** What the tool itself takes. */
export const effectSpan = <T extends { kind: string }>(
  action: { name: string },
  effect: () => Promise<T>,
): Promise<T> =>
  inSpan(`effect ${action.name}`, { attributes: { 'holdpoint.call.action': action.name } }, async (span) => {
    const outcome = await effect();
    span.setAttribute('holdpoint.attempt.outcome', outcome.kind);
    return outcome;
  });
