import {
  type CallRef,
  type EventData,
  type HoldpointEvent,
  MAX_CONTENT_BYTES,
  type PolicyCheckReply,
} from '@holdpoint/contracts';
import {
  AlreadyDecided,
  EventPublisher,
  FactWaiter,
  newEvent,
  newId,
  type Stored,
  StreamReader,
} from '@holdpoint/eventing';
import { frozenDigest, inSpan, isInfrastructureFault, type Span } from '@holdpoint/runtime';
import { parseArguments } from '../domain/arguments/parse.js';
import { scanArguments } from '../domain/arguments/scan.js';
import type { WrittenCall } from '../domain/conversation.js';
import type { Secrets } from '../secrets/secrets.js';
import { gateSpan } from '../spans.js';
import type { Calls } from '../store/calls.js';
import type { Claim } from '../store/executions.js';
import type { ToolRegistry } from '../tools/registry.js';
import type { ToolAction } from '../tools/tool.js';
import { attempt } from './attempt.js';
import type { CallContent, CallPlace } from './content.js';
import { AnswerRunOut, type Effects } from './effects.js';
import type { PolicyQuestion } from './policy-question.js';
import type { GateRun } from './run-context.js';

type Verdict = Stored<'policy.decided'>;

/** An answer of policy holds for a moment only; a claim that comes later asks again, so many times. */
const ASKED_AT_MOST = 4;

/** What became of a call, as far as its round must know. */
export interface Passed {
  /** The call's result for the model; kept in the conversation. */
  told: string;
  /** For the model's next round alone, and kept nowhere. */
  reminders: string[];
  /** Nothing was done, and the same call again would be refused again. */
  refused: boolean;
}

const refused = (told: string): Passed => ({ told, reminders: [], refused: true });
const answered = (told: string): Passed => ({ told, reminders: [], refused: false });

type Call = WrittenCall & {
  step: number;
  index: number;
  providerExecuted: boolean;
  cutOff?: boolean;
  /** Whose values stood in the arguments, which are scrubbed by now. */
  literals?: readonly string[];
};

interface Frozen {
  place: CallPlace;
  call: CallRef & { digest: string };
  action: ToolAction;
  args: unknown;
  nonce: Uint8Array;
}

/**
 * The one place that every tool call passes (seed 000). It answers what the model is told; whatever it cannot prove to
 * be allowed does not happen. Infrastructure faults are thrown: the run is then as lost as if its engine had died, and
 * recovery closes its calls.
 */
export class Gate {
  constructor(
    private readonly registry: ToolRegistry,
    private readonly calls: Calls,
    private readonly content: CallContent,
    private readonly publisher: EventPublisher,
    private readonly reader: StreamReader,
    private readonly facts: FactWaiter,
    private readonly effects: Effects,
    private readonly policy: PolicyQuestion,
    private readonly secrets: Secrets,
    private readonly timeouts: { verdictMs: number; stagedMs: number },
  ) {}

  /** Whether the call is of an action that is declared to read only. The tool's declaration says so, never the model. */
  reads(run: Pick<GateRun, 'tools'>, written: WrittenCall & { providerExecuted: boolean; cutOff?: boolean }): boolean {
    const tool = run.tools.includes(written.tool) ? this.registry.find(written.tool) : undefined;
    if (!tool || written.providerExecuted || written.cutOff || !scanArguments(written.input).ok) return false;
    const resolved = this.registry.resolve(tool, parseArguments(written.input));
    return resolved.ok && resolved.action.hint === 'read';
  }

  /** Answers a call that was refused `times` times in a row without proposing it once more. */
  repeated(run: GateRun, written: WrittenCall, times: number): Promise<Passed> {
    return this.#refuse(run, placeOf(run, written), written, 'Error', 'tool.repeated', run.words.repeated(times));
  }

  pass(run: GateRun, written: Call): Promise<Passed> {
    const place = placeOf(run, written);
    const tool = run.tools.includes(written.tool) ? written.tool : null;
    return gateSpan({ ...place, agent: run.provenance.agent }, tool, (span) => this.#pass(run, place, written, span));
  }

  async #pass(run: GateRun, place: CallPlace, written: Call, span: Span): Promise<Passed> {
    const { words } = run;
    if (written.providerExecuted)
      return this.#refuse(run, place, written, 'Error', 'tool.provider-executed', words.providerExecuted());
    if (written.cutOff) return this.#refuse(run, place, written, 'Error', 'arguments.cut-off', words.cutOff());

    const tool = run.tools.includes(written.tool) ? this.registry.find(written.tool) : undefined;
    if (!tool) return this.#refuse(run, place, written, 'NotFound', 'tool.not-found', words.unknownTool(run.tools));
    const literals = written.literals ?? this.secrets.find(written.input);
    if (literals.length > 0) {
      const usable = this.secrets.usable(literals);
      const told = words.refusedArguments(words.secretLiteral(usable, usable.length < literals.length));
      return this.#refuse(run, place, written, 'Error', 'arguments.secret-literal', told);
    }
    const scan = scanArguments(written.input);
    if (!scan.ok)
      return this.#refuse(run, place, written, 'Error', scan.code, words.refusedArguments(words.arguments[scan.code]));
    const args = parseArguments(written.input);
    const resolved = this.registry.resolve(tool, args);
    if (!resolved.ok)
      return this.#refuse(run, place, written, 'Error', resolved.code, words.refusedArguments(resolved.message));

    const { action } = resolved;
    const misplaced = this.secrets.misplaced(tool.name, action, args);
    if (misplaced) {
      const told = words.refusedArguments(words.secretNotAllowed(tool.name, action.name, misplaced));
      return this.#refuse(run, place, written, 'Error', 'arguments.secret-not-allowed', told);
    }
    const { nonce, bytes, box } = await this.content.freeze(place, written.input);
    const schemaDigest = this.registry.schemaDigest(tool);
    const identity = { server: 'builtin', tool: tool.name, action: action.name, schemaDigest };
    const { agent, principal } = run.provenance;
    const digest = frozenDigest(
      { ...identity, callId: place.callId, spaceId: place.spaceId, principal, agent },
      nonce,
      bytes,
    );
    const call = { ...run.provenance, ...identity, digest };

    if (run.signal.aborted) return refused(words.cancelled());
    await this.calls.proposing(place.callId, call, action.hint);
    const proposed = newEvent('tool.proposed', {
      ...address(run, place),
      ...(run.causationId === undefined ? {} : { causationId: run.causationId }),
      data: {
        call,
        frozen: box,
        argumentBytes: bytes.length,
        hint: action.hint,
        scope: action.scope,
        executionClass: action.executionClass,
        origin: 'builtin',
        step: written.step,
        index: written.index,
      },
    });
    await this.publisher.publish(proposed);
    const frozen = { place, call, action, args, nonce };
    const verdict = await inSpan('await verdict', {}, () => this.#verdict(run, frozen));
    span.setAttributes({
      'holdpoint.call.action': action.name,
      'holdpoint.policy.verdict': verdict?.event.data.verdict ?? 'none',
      'holdpoint.policy.reason': verdict?.event.data.reason ?? 'none',
    });
    if (!verdict) return refused(run.signal.aborted ? words.cancelled() : words.noVerdict());
    const passed = await this.#act(run, frozen, verdict);
    return { ...passed, reminders: remindersOf(run, verdict) };
  }

  /** The verdict that counts: of verdict and abandonment the one at the lower sequence (charter, section 6). */
  async #verdict(run: GateRun, { place, call }: Frozen): Promise<Verdict | null> {
    const { spaceId, callId } = place;
    let verdict = await this.facts.waitFor('policy.decided', spaceId, callId, this.timeouts.verdictMs, run.signal);
    if (!verdict) {
      const reason = run.signal.aborted ? 'cancelled' : 'no-verdict';
      const abandoned = await this.abandon(run, place, call, reason);
      verdict = await this.reader.last('policy.decided', spaceId, callId);
      if (verdict && verdict.seq > abandoned) verdict = null;
    } else {
      const abandoned = await this.reader.last('tool.abandoned', spaceId, callId);
      if (abandoned && abandoned.seq < verdict.seq) verdict = null;
    }
    // a verdict on other bytes is no verdict on these
    return verdict?.event.data.call.digest === call.digest ? verdict : null;
  }

  /** @returns the sequence at which the call stands abandoned, by whomever. */
  async abandon(
    run: Pick<GateRun, 'runId'>,
    place: CallPlace,
    call: CallRef,
    reason: EventData<'tool.abandoned'>['reason'],
  ): Promise<number> {
    const event = newEvent('tool.abandoned', { ...address(run, place), data: { call, reason } });
    return this.publisher.publish(event).then(
      (ack) => ack.seq,
      (error) => {
        if (error instanceof AlreadyDecided) return error.stored.seq;
        throw error;
      },
    );
  }

  async #act(run: GateRun, frozen: Frozen, verdict: Verdict): Promise<Passed> {
    const { place, call, action } = frozen;
    const { words } = run;
    const decided = verdict.event.data;
    if (decided.verdict === 'deny') {
      const told = words.denied(decided.reason, decided.rule, decided.policyVersion);
      await this.#executed(run, place, { call, status: 'Denied', reason: decided.reason, told, nonce: frozen.nonce });
      return refused(told);
    }
    if (decided.verdict === 'approve') {
      const staged = await this.facts.waitFor(
        'call.staged',
        place.spaceId,
        place.callId,
        this.timeouts.stagedMs,
        run.signal,
      );
      return answered(words.submitted(place.spaceId, place.callId, staged?.event.data.number ?? null));
    }
    return action.hint === 'read' ? this.#read(run, frozen) : this.#write(run, frozen, verdict.event);
  }

  async #read(run: GateRun, { place, call, action, args, nonce }: Frozen): Promise<Passed> {
    const from = performance.now();
    const outcome = await attempt(action, args, { callId: place.callId, spaceId: place.spaceId, attempt: 1 });
    const durationMs = Math.round(performance.now() - from);
    const ok = outcome.kind === 'done';
    const told = ok ? outcome.result : run.words.failed(outcome.kind === 'unknown' ? outcome.detail : outcome.error);
    const status = ok ? 'Ok' : 'Error';
    await this.#executed(run, place, {
      call,
      status,
      ...(ok ? {} : { reason: 'tool.failed' }),
      told,
      nonce,
      durationMs,
    });
    return answered(told);
  }

  async #write(
    run: GateRun,
    { place, call, action, args, nonce }: Frozen,
    verdict: HoldpointEvent<'policy.decided'>,
  ): Promise<Passed> {
    const { words } = run;
    const claim: Claim = { ...place, runId: run.runId, call, held: false, attempt: 1, fence: newId() };
    const forgo = async (reason: string, told: string, state: 'refused' | 'abandoned' = 'refused') =>
      refused(
        (await this.effects.forgo(claim, state, reason, told, run.signal.aborted)) ? told : words.claimedElsewhere(),
      );

    for (let asked = 1; asked <= ASKED_AT_MOST; asked += 1) {
      if (run.signal.aborted) return forgo('run.cancelled', words.cancelled(), 'abandoned');
      const answer = await this.policy.ask(place, call, action).catch((error: unknown) => {
        if (isInfrastructureFault(error)) return null;
        throw error;
      });
      if (answer === null) break;
      if (!runs(answer)) return forgo(answer.halted ? 'halted' : 'policy.changed', words.policyChanged(answer.reason));

      const work = { claim, action, args, salt: nonce, cancelled: () => run.signal.aborted };
      const stillAllows = async () => runs(await this.policy.ask(place, call, action));
      const terms = {
        causationId: verdict.id,
        mayClaim: run.stillMine,
        answer: { validUntil: answer.validUntil, stillAllows },
      };
      const done = await this.effects.execute({ ...work, ...terms }).catch((error: unknown) => {
        if (error instanceof AnswerRunOut) return null;
        throw error;
      });
      if (done !== null) return done ? answered(done.told) : refused(words.claimedElsewhere());
    }
    return forgo('policy.unreachable', words.policyUnreachable());
  }

  /** Closes a call that claimed nothing: refused ones and reads (stream first; charter, section 3). */
  async #executed(
    run: GateRun,
    place: CallPlace,
    e: {
      call: CallRef;
      status: EventData<'tool.executed'>['status'];
      reason?: string;
      told: string;
      nonce: Uint8Array;
      durationMs?: number;
      arguments?: EventData<'tool.executed'>['arguments'];
    },
  ): Promise<void> {
    const sealed = await this.content.seal(place, 'result', e.told, e.nonce);
    const event = newEvent('tool.executed', {
      ...address(run, place),
      data: {
        call: e.call,
        status: e.status,
        held: false,
        ...(e.reason === undefined ? {} : { reason: e.reason }),
        result: sealed.box,
        ...(sealed.truncated ? { truncated: sealed.truncated } : {}),
        ...(e.arguments ? { arguments: e.arguments } : {}),
        cancelled: run.signal.aborted,
        durationMs: e.durationMs ?? 0,
      },
    });
    await this.publisher.publish(event).catch((error: unknown) => {
      if (!(error instanceof AlreadyDecided)) throw error;
    });
  }

  /** A call that cannot even be proposed. Its raw arguments are kept for the audit, scrubbed and sealed. */
  async #refuse(
    run: GateRun,
    place: CallPlace,
    written: WrittenCall,
    status: 'Error' | 'NotFound',
    reason: string,
    told: string,
  ): Promise<Passed> {
    const none = new Uint8Array();
    // the whole first: a value that is cut in two is harder to find
    const kept = await this.content.seal(place, 'arguments', cut(this.secrets.scrub(written.input)), none);
    const call: CallRef = {
      ...run.provenance,
      server: 'builtin',
      // a name that nobody declared is a stranger's text: it stands here only if it can hide nothing
      tool: /^[A-Za-z0-9_.-]{1,64}$/.test(written.tool) ? written.tool : 'unknown',
      action: null,
      schemaDigest: null,
      digest: null,
    };
    await this.#executed(run, place, { call, status, reason, told, nonce: none, arguments: kept.box });
    return refused(told);
  }
}

const runs = ({ halted, verdict }: PolicyCheckReply): boolean => !halted && verdict === 'auto';

const cut = (text: string): string => (text.length > MAX_CONTENT_BYTES ? text.slice(0, MAX_CONTENT_BYTES) : text);

const address = (run: Pick<GateRun, 'runId'>, place: CallPlace) => ({
  spaceId: place.spaceId,
  entityId: place.callId,
  callId: place.callId,
  runId: run.runId,
});

const placeOf = (run: GateRun, written: WrittenCall): CallPlace => ({
  spaceId: run.spaceId,
  conversationId: run.provenance.conversationId,
  callId: written.callId,
});

/** The policy's own words, and ours about its flags. */
function remindersOf(run: GateRun, { event }: Verdict): string[] {
  const { call, flags, reminder } = event.data;
  return [
    ...(reminder === undefined ? [] : [reminder]),
    ...(flags.length === 0 ? [] : [run.words.flagged(call.tool, flags)]),
  ];
}
