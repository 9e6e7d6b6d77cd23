import { setTimeout as pause } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { Logger } from '@nestjs/common';
import type { AgentDeclaration } from '../config.js';
import { playRound, type Round } from '../run/round.js';
import { Bill } from './bill.js';
import { endpointModel } from './endpoint.js';
import { ModelFailure } from './failure.js';
import { Prices } from './prices.js';
import { ScriptedModel } from './scripted.js';
import type { ModelConfig } from './settings.js';

interface Retries {
  attempts: number;
  firstMs: number;
  longestMs: number;
}

/** The model of an agent, what it costs, and how often it is asked before a run gives up. */
export class AgentModel {
  readonly #log = new Logger(AgentModel.name);

  constructor(
    readonly name: string,
    private readonly model: LanguageModelV4,
    private readonly prices: Prices,
    private readonly retries: Retries,
  ) {}

  bill(): Bill {
    return new Bill(this.prices.of(this.name));
  }

  /**
   * One whole round. It is asked for again after a passing failure, which is safe: nothing of a round is acted upon before
   * all of it is here. What earlier attempts may have cost is missing from its usage, and it says so.
   * @throws ModelFailure when the last attempt failed, or another one cannot help
   */
  async ask(prompt: LanguageModelV4Prompt, tools: LanguageModelV4FunctionTool[], signal: AbortSignal): Promise<Round> {
    let uncounted = false;
    for (let attempt = 1; ; attempt++) {
      try {
        const round = await playRound(this.model, prompt, tools, signal);
        return uncounted ? { ...round, usage: { ...round.usage, complete: false } } : round;
      } catch (error) {
        if (signal.aborted || !(error instanceof ModelFailure)) throw error;
        const { retryAfterMs = 0, mayHaveCost } = error.circumstances;
        uncounted ||= mayHaveCost;
        const { attempts, firstMs, longestMs } = this.retries;
        const waitMs = Math.max(
          retryAfterMs,
          Math.min(longestMs, firstMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2),
        );
        if (!error.passing || attempt === attempts || waitMs > longestMs)
          throw new ModelFailure(error.reason, error.detail, { mayHaveCost: uncounted });
        this.#log.warn(`${error.message}: attempt ${attempt} of ${attempts}, the next in ${Math.round(waitMs)} ms`);
        await pause(waitMs, undefined, { signal });
      }
    }
  }
}

/**
 * @param scrub takes the values of secrets out of what an endpoint says of a failure
 * @throws at start, naming the agent and what its model lacks
 */
export function agentModels(
  agents: Iterable<AgentDeclaration>,
  config: ModelConfig,
  scrub: (text: string) => string = (text) => text,
): Map<string, AgentModel> {
  const prices = new Prices(config.HOLDPOINT_PRICING);
  const retries = {
    attempts: config.MODEL_ATTEMPTS,
    firstMs: config.MODEL_RETRY_MS,
    longestMs: config.MODEL_RETRY_MAX_MS,
  };
  return new Map(
    [...agents].map((a) => {
      const model =
        a.model === 'scripted' ? new ScriptedModel(scriptOf(a)) : endpointModel(a.name, a.model, config, scrub);
      return [a.name, new AgentModel(a.model, model, prices, retries)];
    }),
  );
}

function scriptOf(agent: AgentDeclaration): string {
  if (agent.script !== undefined) return agent.script;
  throw new Error(`agent ${agent.name} uses the model scripted, by HOLDPOINT_MODEL, but declares no script`);
}
