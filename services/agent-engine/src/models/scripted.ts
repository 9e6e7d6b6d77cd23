import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { isReminder } from '../run/reminders.js';

const script = z.strictObject({
  scripts: z.array(
    z.strictObject({
      /** Regular expression, held against the last user message; the first script that matches plays. */
      when: z.string().transform((pattern, issues) => {
        try {
          return new RegExp(pattern, 'iu');
        } catch {
          issues.addIssue({ code: 'custom', message: `${JSON.stringify(pattern)} is not a regular expression` });
          return z.NEVER;
        }
      }),
      turns: z.array(
        z.strictObject({
          text: z.string().default(''),
          /** `arguments` is the exact text that the model emits. */
          calls: z.array(z.strictObject({ tool: z.string(), arguments: z.string() })).default([]),
          /** A slow model, in milliseconds. */
          waitMs: z.int().min(0).max(600_000).default(0),
        }),
      ),
    }),
  ),
});
type Script = z.infer<typeof script>;

/**
 * A model without a model: it plays turns from a YAML file. Which turn is next follows from the prompt alone, so a run
 * can go on in another process. Needs no key and costs nothing.
 */
export class ScriptedModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider = 'scripted';
  readonly modelId = 'scripted';
  readonly supportedUrls = {};
  readonly #script: Script;

  /** @throws when the file is missing or is not a script; the text names file and field. */
  constructor(path: string) {
    const doc = parseDocument(readFileSync(path, 'utf8'));
    const broken = doc.errors[0];
    if (broken) throw new Error(`${path}: ${broken.message.split('\n')[0]}`);
    const parsed = script.safeParse(doc.toJS());
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      throw new Error(`${path}: ${issue?.path.join('.')}: ${issue?.message}`);
    }
    this.#script = parsed.data;
  }

  doGenerate(): never {
    throw new Error('only doStream keeps the argument bytes; nothing here calls doGenerate');
  }

  async doStream({ prompt, abortSignal }: LanguageModelV4CallOptions) {
    const lastUser = prompt.findLastIndex((m) => m.role === 'user' && !isReminder(m));
    const asked = lastUser < 0 ? '' : messageText(prompt[lastUser] as LanguageModelV4Message);
    const round = prompt.slice(lastUser + 1).filter((m) => m.role === 'assistant').length;
    const turn = this.#script.scripts.find((s) => s.when.test(asked))?.turns[round];
    if (turn && turn.waitMs > 0) await pause(turn.waitMs, undefined, abortSignal ? { signal: abortSignal } : {});

    const text = turn?.text ?? (round === 0 ? 'My script has nothing for this.' : 'Done.');
    const calls = turn?.calls ?? [];
    const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }];
    if (text !== '')
      parts.push(
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: text },
        { type: 'text-end', id: 't' },
      );
    for (const [i, c] of calls.entries())
      parts.push({ type: 'tool-call', toolCallId: `call_${round}_${i}`, toolName: c.tool, input: c.arguments });
    const written = text.length + calls.reduce((n, c) => n + c.arguments.length, 0);
    parts.push({
      type: 'finish',
      finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
      usage: {
        inputTokens: {
          total: tokens(prompt.reduce((n, m) => n + messageText(m).length, 0)),
          noCache: undefined,
          cacheRead: 0,
          cacheWrite: 0,
        },
        outputTokens: { total: tokens(written), text: undefined, reasoning: 0 },
      },
    });
    return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> };
  }
}

const tokens = (characters: number) => Math.ceil(characters / 4);

function messageText(m: LanguageModelV4Message): string {
  if (m.role === 'system') return m.content;
  return m.content
    .map((p) => {
      if (p.type === 'text') return p.text;
      return p.type === 'tool-result' && p.output.type === 'text' ? p.output.value : '';
    })
    .join('\n');
}
