import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Usage } from '@holdpoint/contracts';
import type { Transaction } from 'kysely';
import type { AgentDeclaration } from '../config.js';
import { type Turn, turnText } from '../domain/conversation.js';
import { Memory, type Summary } from '../domain/memory.js';
import type { Words } from '../domain/words.js';
import type { Database } from '../store/schema.js';
import type { Summaries } from '../store/summaries.js';
import type { Turns } from '../store/turns.js';
import type { ScrubbedRound } from './scrubbed-round.js';

/** One round of the run's model, paid for by the run. */
export type Ask = (prompt: LanguageModelV4Prompt, tools: LanguageModelV4FunctionTool[]) => Promise<ScrubbedRound>;

interface Place {
  spaceId: string;
  conversationId: string;
}

/** What a summary has cost, and the summary, unless the model had nothing to say. */
export interface Compacted {
  summary: Summary | undefined;
  usage: Usage;
}

/** Keeps prompts of long conversations short: their beginning is summarised by the model itself. Every turn is kept. */
export class Compaction {
  constructor(
    private readonly turns: Turns,
    private readonly summaries: Summaries,
  ) {}

  async recall({ spaceId, conversationId }: Place): Promise<Memory> {
    const summary = await this.summaries.latest(spaceId, conversationId);
    return new Memory(summary, await this.turns.list(spaceId, conversationId, { after: summary?.covers ?? 0 }));
  }

  /**
   * One call of the model of its own and without tools, if the next prompt is beyond the agent's limit. The transcript is
   * plain text, so that nothing in it can be taken for a call. Changes nothing.
   * @returns undefined when nothing was to be summarised; without a summary when nothing came of it
   */
  async summarise(
    memory: Memory,
    agent: Pick<AgentDeclaration, 'system' | 'compactAfterTokens'>,
    ask: Ask,
    words: Words,
  ): Promise<Compacted | undefined> {
    if (memory.size(agent.system) <= agent.compactAfterTokens) return undefined;
    const covered = memory.coverable(Math.floor(agent.compactAfterTokens / 2));
    const last = covered.at(-1);
    if (!last) return undefined;
    const before = memory.summary ? [`(earlier)\n${memory.summary.text}`] : [];
    const transcript = [...before, ...covered.map((t) => said(t.turn))].join('\n\n');
    const { text, usage } = await ask(
      [
        { role: 'system', content: words.summariser() },
        { role: 'user', content: [{ type: 'text', text: transcript }] },
        { role: 'user', content: [{ type: 'text', text: words.summarise() }] },
      ],
      [],
    );
    const summary = text.trim() === '' ? undefined : { covers: last.position, text };
    return { summary, usage };
  }

  /** Seals a summary, before a transaction begins. @returns what stores it */
  async sealed(
    run: Place & { runId: string },
    summary: Summary,
  ): Promise<(tx: Transaction<Database>) => Promise<void>> {
    const content = await this.summaries.seal(run, summary);
    return (tx) => this.summaries.add(tx, run, summary.covers, content);
  }
}

const said = (turn: Turn): string => `(${turn.role})\n${turnText(turn)}`;
