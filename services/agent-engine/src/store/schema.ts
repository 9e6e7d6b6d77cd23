import type { ExecutionClass, Hint, RunStatus, Source } from '@holdpoint/contracts';
import type { Generated, GeneratedAlways } from 'kysely';

type Time = Generated<Date>;
/** `lapsed`: its time was up and it had said nothing; whatever it says later is not heard. */
export type AttemptOutcome = 'done' | 'did-not-happen' | 'unknown' | 'lapsed';
export type RunState = 'queued' | 'running' | RunStatus;

/** Columns named `content`, `prompt`, `result` and `answer` hold a sealed box as JSON text, never plaintext. */
export interface Database {
  conversations: {
    conversation_id: string;
    space_id: string;
    agent: string;
    principal_kind: 'person' | 'service' | 'unknown';
    principal_id: string;
    created_at: Time;
  };
  runs: {
    run_id: string;
    space_id: string;
    conversation_id: string;
    agent: string;
    model: string;
    source: Source;
    principal_kind: 'person' | 'service' | 'unknown';
    principal_id: string;
    task_id: string | null;
    attempt: number | null;
    prompt: string;
    state: RunState;
    reason: string | null;
    steps: Generated<number>;
    prompt_tokens: Generated<number>;
    completion_tokens: Generated<number>;
    cached_tokens: Generated<number>;
    /** US dollars as a decimal string; meaningless unless known. */
    cost_amount: Generated<string>;
    cost_known: Generated<boolean>;
    result: string | null;
    engine: string | null;
    heartbeat_at: Date | null;
    cancel_requested: Generated<boolean>;
    queued_at: Time;
    started_at: Date | null;
    completed_at: Date | null;
    /** Of the trace that it was queued in. */
    traceparent: string | null;
  };
  turns: {
    conversation_id: string;
    position: number;
    run_id: string;
    role: 'user' | 'assistant' | 'tool';
    content: string;
    created_at: Time;
  };
  summaries: {
    conversation_id: string;
    /** The position of the last turn that it stands for. */
    covers: number;
    run_id: string;
    content: string;
    created_at: Time;
  };
  calls: {
    call_id: string;
    run_id: string;
    space_id: string;
    step: number;
    position: number;
    provider_call_id: string;
    /** The contract's CallRef as JSON, once the call was proposed. */
    ref: string | null;
    hint: Hint | null;
    answer: string | null;
    /** The call in doubt in whose place a person proposed this one. */
    anew_of: Generated<string | null>;
    followed_at: Generated<Date | null>;
  };
  executions: {
    call_id: string;
    space_id: string;
    run_id: string;
    ref: string;
    held: boolean;
    state: 'executing' | 'in-doubt' | 'closed' | 'refused' | 'abandoned';
    attempt: number;
    fence: string;
    lease_until: Date;
    timeout_ms: number;
    doubt_reason: 'tool-answered-unknown' | 'lease-lapsed' | null;
    execution_class: ExecutionClass;
    /** Set: no attempt is under way, and the next one may begin then. */
    retry_at: Generated<Date | null>;
    claimed_at: Time;
    changed_at: Time;
    /** Of the trace that it was claimed in. */
    traceparent: string | null;
    /** Until when policy's answer could be acted upon; looked at when the claim is committed. */
    answer_until: Generated<Date | null>;
  };
  attempts: {
    call_id: string;
    attempt: number;
    fence: string;
    engine: string;
    started_at: Time;
    ended_at: Date | null;
    outcome: AttemptOutcome | null;
  };
  announced_tools: {
    space_id: string;
    server: string;
    tool: string;
    announced: string;
    announced_at: Time;
  };
  telegram_bots: {
    bot: string;
    next_update: number | null;
    moved_at: Date | null;
  };
  telegram_updates: {
    bot: string;
    update_id: number;
    /** Chat ids are text, every digit of them. */
    chat_id: string | null;
    run_id: string | null;
    received_at: Time;
  };
  telegram_conversations: {
    conversation_id: string;
    bot: string;
    chat_id: string;
    current: Generated<boolean>;
    begun_at: Time;
  };
  telegram_messages: {
    message_id: GeneratedAlways<number>;
    bot: string;
    chat_id: string;
    run_id: string | null;
    notice: string | null;
    state: Generated<'waiting' | 'sending' | 'sent' | 'refused' | 'withheld' | 'unknown'>;
    part: Generated<number>;
    claim: Generated<string | null>;
    claimed_at: Generated<Date | null>;
    due_at: Time;
    tries: Generated<number>;
    created_at: Time;
  };
}
