import { type SpacePolicyAdvice, type SpacePolicyAdviceRequest, spacePolicyAdvice, token } from '@holdpoint/contracts';
import { Logger } from '@nestjs/common';
import { z } from 'zod';
import type { ServiceClient } from './service-client.js';

/** What is used here of a space's preferences (seed 001). */
const spacePolicy = z.object({ spaceId: token, allowDestructive: z.array(z.string()) });
export interface SpacePolicy {
  allowDestructive: readonly string[];
}

export interface SpacePolicyClientOptions {
  /** How long an answer is used, counted from when it was asked for. Default 30 s (seed 001). */
  ttlMs?: number;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

interface Answer {
  value: Promise<unknown>;
  until: number;
}

const TTL_MS = 30_000;

/**
 * What spaces let their agents do, as policy says. For advice alone, such as what a model is offered: a verdict on a call is
 * never taken from here. An answer is kept for each space by itself, for `ttlMs` or until `drop`; whoever asks meanwhile
 * shares one question. No answer means that nothing is allowed, is never kept, and throws nothing.
 */
export class SpacePolicyClient {
  readonly #log = new Logger(SpacePolicyClient.name);
  readonly #spaces = new Map<string, Map<string, Answer>>();
  readonly #ttlMs: number;
  readonly #now: () => number;

  constructor(
    private readonly policy: ServiceClient,
    options: SpacePolicyClientOptions = {},
  ) {
    this.#ttlMs = options.ttlMs ?? TTL_MS;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The destructive actions that the space opted in to, as people write them. */
  policyOf(spaceId: string): Promise<SpacePolicy> {
    const path = `/internal/spaces/${encodeURIComponent(spaceId)}/policy`;
    return this.#kept<SpacePolicy>(spaceId, '', { allowDestructive: [] }, () => this.policy.get(path, spacePolicy));
  }

  /** What would become of these actions, were the agent to call them now; those that are not in the answer are not allowed. */
  adviceOn(spaceId: string, question: SpacePolicyAdviceRequest): Promise<SpacePolicyAdvice> {
    const path = `/internal/spaces/${encodeURIComponent(spaceId)}/advice`;
    const nothing = { spaceId, agent: question.agent, actions: [] };
    return this.#kept<SpacePolicyAdvice>(spaceId, JSON.stringify(question), nothing, async () => {
      const advice = await this.policy.post(path, question, spacePolicyAdvice);
      if (advice.agent !== question.agent) throw new Error('policy answered for another agent');
      return advice;
    });
  }

  /** Forgets what is known of the space, also what is being asked at the moment: it may have been answered before the change. */
  drop(spaceId: string): void {
    this.#spaces.delete(spaceId);
  }

  async #kept<T>(spaceId: string, key: string, closed: T, ask: () => Promise<T & { spaceId: string }>): Promise<T> {
    const now = this.#now();
    const answers = this.#spaces.get(spaceId) ?? new Map<string, Answer>();
    this.#spaces.set(spaceId, answers);
    for (const [k, { until }] of answers) if (until <= now) answers.delete(k);
    const known = answers.get(key);
    const value = (known?.value as Promise<T> | undefined) ?? this.#asked(spaceId, ask);
    if (known === undefined) {
      const answer = { value, until: now + this.#ttlMs };
      answers.set(key, answer);
      value.catch(() => answers.get(key) === answer && answers.delete(key));
    }
    try {
      return await value;
    } catch (error) {
      if (known === undefined)
        this.#log.warn(`${spaceId}: ${error instanceof Error ? error.message : String(error)}; so nothing is allowed`);
      return closed;
    }
  }

  async #asked<T>(spaceId: string, ask: () => Promise<T & { spaceId: string }>): Promise<T & { spaceId: string }> {
    const answer = await ask();
    if (answer.spaceId !== spaceId) throw new Error('policy answered for another space');
    return answer;
  }
}
