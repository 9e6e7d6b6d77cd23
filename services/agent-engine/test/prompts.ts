import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { ScriptedModel } from '../src/models/scripted.js';

/** What models were asked from now on, oldest first; the scripted model plays on as it does. */
export function recordPrompts() {
  const prompts: LanguageModelV4CallOptions[] = [];
  const play = ScriptedModel.prototype.doStream;
  ScriptedModel.prototype.doStream = function (options) {
    prompts.push(structuredClone({ prompt: options.prompt, tools: options.tools ?? [] }));
    return play.call(this, options);
  };
  return {
    /** Those of which some message holds the text, as one text each. */
    holding: (text: string) => prompts.map(plain).filter((p) => p.includes(text)),
    all: prompts,
    restore: () => {
      ScriptedModel.prototype.doStream = play;
    },
  };
}

/** `role: text` of each message. */
export const plain = ({ prompt }: LanguageModelV4CallOptions): string => prompt.map(messageText).join('\n');

function messageText(m: LanguageModelV4Message): string {
  if (m.role === 'system') return `system: ${m.content}`;
  const parts = m.content.map((p) => {
    if (p.type === 'text') return p.text;
    if (p.type === 'tool-call') return `call ${p.toolCallId}`;
    return p.type === 'tool-result' && p.output.type === 'text' ? `result ${p.toolCallId} ${p.output.value}` : '';
  });
  return `${m.role}: ${parts.join('\n')}`;
}
