import type { CallPreview, CallPreviewView } from '@holdpoint/contracts';
import { StreamReader } from '@holdpoint/eventing';
import { Refusal } from '@holdpoint/runtime';
import { Logger } from '@nestjs/common';
import type { FrozenArguments } from './frozen-arguments.js';

const LONGEST_MS = 10_000;

/** Shows what a proposed call would change, as its tool sees things now. Reads only: nothing here can act or decide. */
export class Previews {
  readonly #log = new Logger(Previews.name);

  constructor(
    private readonly frozen: FrozenArguments,
    private readonly reader: StreamReader,
    private readonly now: () => Date = () => new Date(),
  ) {}

  /** @throws Refusal `engine.no-call` when the space has no such proposal, `engine.call-unreadable` when its content is gone */
  async of(spaceId: string, callId: string): Promise<CallPreviewView> {
    const proposed = await this.reader.last('tool.proposed', spaceId, callId);
    if (!proposed) throw new Refusal('not-found', 'engine.no-call', 'This space has no such call.');
    const { call, frozen } = proposed.event.data;
    const opened = await this.frozen.open({ spaceId, callId }, call, frozen);
    const ready = typeof opened === 'string' ? opened : this.frozen.ready(call, opened);
    const view = (preview: CallPreview | null, note?: string): CallPreviewView => ({
      callId,
      at: this.now().toISOString(),
      preview,
      ...(note === undefined ? {} : { note }),
    });
    if (ready === 'tool.schema-changed') return view(null, 'The tool has changed since, or is not there any more.');
    if (ready === 'arguments.secret-not-allowed' || ready === 'arguments.secret-literal')
      return view(null, 'It would not be executed: a secret in it may not be used there any more.');
    if (typeof ready === 'string')
      throw new Refusal('gone', 'engine.call-unreadable', 'The content of this call cannot be read any more.');
    const { action, args } = ready;
    if (!action.preview) return view(null, 'This tool shows no preview.');
    try {
      const signal = AbortSignal.timeout(Math.min(action.timeoutMs, LONGEST_MS));
      const late = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(new Error('it took too long')), { once: true }),
      );
      return view(await Promise.race([action.preview(args, { callId, spaceId, signal }), late]));
    } catch (error) {
      this.#log.warn(`no preview of ${call.tool}.${call.action}: ${error instanceof Error ? error.name : 'failed'}`);
      return view(null, 'The tool could not look. Decide by the exact arguments, or try again later.');
    }
  }
}
