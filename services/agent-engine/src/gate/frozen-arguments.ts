import type { CallRef, EventData, Sealed } from '@holdpoint/contracts';
import { type Stored, StreamReader } from '@holdpoint/eventing';
import { ContentDestroyed, ContentUnreadable, frozenDigest } from '@holdpoint/runtime';
import { parseArguments } from '../domain/arguments/parse.js';
import type { Secrets } from '../secrets/secrets.js';
import type { Claim } from '../store/executions.js';
import type { ToolRegistry } from '../tools/registry.js';
import type { ToolAction } from '../tools/tool.js';
import type { CallContent } from './content.js';

export type Ready = { action: ToolAction; args: unknown; nonce: Uint8Array };
type Frozen = { nonce: Uint8Array; bytes: Uint8Array };
type At = { spaceId: string; callId: string };

/**
 * What was frozen, taken from the stream and proved: against the proposal of this service, against the digest, against
 * the tool's schema. A text in place of a result is the reason why the call must not run. Changes nothing.
 */
export class FrozenArguments {
  constructor(
    private readonly registry: ToolRegistry,
    private readonly content: CallContent,
    private readonly reader: StreamReader,
    private readonly secrets: Secrets,
  ) {}

  /** The proposal, if it was of exactly this call and policy gave this verdict on it. */
  async proposed({ spaceId, callId }: At, call: CallRef, verdict: 'auto' | 'approve') {
    const proposed = await this.reader.last('tool.proposed', spaceId, callId);
    const decided = await this.reader.last('policy.decided', spaceId, callId);
    // the broker keeps both longer than an approval may wait; without them nothing proves what was proposed
    if (!proposed || !decided) return 'frozen.proposal-gone';
    if (decided.event.data.verdict !== verdict)
      return verdict === 'approve' ? 'frozen.not-held' : 'frozen.not-released';
    return sameCall(proposed.event.data.call, call) ? proposed : 'frozen.changed';
  }

  /** The frozen bytes, proved by the digest that the call carries. */
  async open({ spaceId, callId }: At, call: CallRef, frozen: Sealed): Promise<string | Frozen> {
    const opened = await this.content
      .thaw({ spaceId, callId, conversationId: call.conversationId }, frozen)
      .catch((error: unknown) => {
        if (error instanceof ContentDestroyed || error instanceof ContentUnreadable) return null;
        throw error;
      });
    if (!opened) return 'frozen.unreadable';
    const { server, tool, action, agent, principal, schemaDigest } = call;
    if (schemaDigest === null) return 'frozen.changed';
    const context = { callId, spaceId, principal, agent, server, tool, action, schemaDigest };
    return frozenDigest(context, opened.nonce, opened.bytes) === call.digest ? opened : 'frozen.changed';
  }

  /**
   * The schema is pinned: what was seen under another one is not what would run. Which secrets there are, and where they are
   * allowed, may have changed while the call waited.
   */
  ready(call: CallRef, { nonce, bytes }: Frozen): string | Ready {
    const tool = this.registry.find(call.tool);
    if (!tool || this.registry.schemaDigest(tool) !== call.schemaDigest) return 'tool.schema-changed';
    const text = Buffer.from(bytes).toString('utf8');
    if (this.secrets.find(text).length > 0) return 'arguments.secret-literal';
    const args = parseArguments(text);
    const resolved = this.registry.resolve(tool, args);
    if (!resolved.ok) return 'tool.schema-changed';
    if (this.secrets.misplaced(tool.name, resolved.action, args)) return 'arguments.secret-not-allowed';
    return { action: resolved.action, args, nonce };
  }

  /**
   * For a further attempt of a claim, by any engine: the box of the release, or of the proposal where nobody had to release.
   * @returns null while the stream does not hold `tool.started`, without which no effect begins.
   */
  async ofClaim(claim: Claim): Promise<string | Ready | null> {
    const { spaceId, callId, call, held } = claim;
    const proposed = await this.proposed(claim, call, held ? 'approve' : 'auto');
    if (typeof proposed === 'string') return proposed;
    const frozen = held ? await this.#released(claim) : proposed.event.data.frozen;
    if (!frozen) return 'frozen.missing';
    const opened = await this.open(claim, call, frozen);
    const ready = typeof opened === 'string' ? opened : this.ready(call, opened);
    if (typeof ready === 'string') return ready;
    return (await this.reader.last('tool.started', spaceId, callId)) === null ? null : ready;
  }

  async #released({ spaceId, callId, call }: Claim): Promise<Sealed | undefined> {
    const decided: Stored<'approval.decided'> | null = await this.reader.last('approval.decided', spaceId, callId);
    const data: EventData<'approval.decided'> | undefined = decided?.event.data;
    return data?.decision === 'approved' && sameCall(data.call, call) ? data.frozen : undefined;
  }
}

const sameCall = (a: CallRef, b: CallRef): boolean =>
  Object.keys({ ...a, ...b }).every(
    (k) => JSON.stringify(a[k as keyof CallRef]) === JSON.stringify(b[k as keyof CallRef]),
  );
