import type { WakeUp } from '@holdpoint/contracts';

// Everything that a model is told about a refusal, a hold or an outcome. Each text says what to do next, and none repeats
// what a stranger wrote outside its quotes.

const named = (tool: string, action: string | null) => (action === null ? tool : `${tool}.${action}`);

export const words = {
  unknownTool: (tools: readonly string[]) =>
    `NotFound: you have no tool of that name. Your tools: ${tools.join(', ') || 'none'}. Use one of them or answer without.`,

  refusedArguments: (message: string) => `Error: the arguments were refused and nothing was done. ${message}`,

  providerExecuted: () =>
    'Error: a call that your provider runs by itself is not allowed here. Use one of the tools you were given.',

  cutOff: () =>
    'Error: your answer was stopped before it was complete, so none of its calls was carried out. Send the call again, with less in one answer.',

  submitted: (spaceId: string, callId: string, number: number | null) =>
    `Submitted for approval (${number === null ? callId : `${spaceId}#${number}`}). ` +
    'Nothing has been executed yet. A person will decide, and you will be told the outcome in a later message. ' +
    'Do not propose the same call again; go on with what does not depend on it, or finish.',

  denied: (reason: string, rule: string, policyVersion: string, reminder: string | undefined) =>
    `Denied: ${reason} (rule "${rule}", policy ${policyVersion.slice(0, 12)}). Nothing was executed. ` +
    (reminder ?? 'Do not try the same call again; choose another way or tell the user that it is not allowed.'),

  noVerdict: () =>
    'Denied: no decision arrived in time, so nothing was executed. Try once more later, or tell the user that the policy service does not answer.',

  policyUnreachable: () =>
    'Denied: the policy could not be asked right before the execution, so nothing was executed. Try once more later, or tell the user.',

  policyChanged: (reason: string) =>
    `Denied: the policy changed after this call was allowed (${reason}). Nothing was executed. Propose it anew if it is still needed.`,

  cancelled: () => 'Denied: the run was cancelled before this call began. Nothing was executed.',

  claimedElsewhere: () =>
    'Denied: this call was given up before it began. Nothing was executed by this attempt. Propose it anew if it is still needed.',

  inDoubt: (tool: string, action: string | null) =>
    `Unknown: nobody can tell yet whether ${named(tool, action)} took effect. Do not repeat it. A person will settle it.`,

  proposedAnew: (callId: string) =>
    `It was proposed anew as ${callId} with the same arguments; do not propose it yourself.`,

  failed: (error: string) => `Error: it did not happen. ${error}`,

  interrupted: () =>
    'Interrupted: the engine was lost before this call had an answer. It may or may not have been carried out; do not repeat it blindly, check first.',

  /** For the people of the space; `detail` may quote the endpoint. */
  modelFailed: (reason: string, detail: string) =>
    `The model gave no answer: ${detail}. Nothing of this round was carried out. ` +
    (reason === 'model.refused'
      ? "Check the agent's model, its key and its endpoint, then start another run."
      : 'Start another run later.'),

  stepLimit: (steps: number) => `The run was ended after ${steps} steps.`,

  wakeUp(w: WakeUp, spaceId: string, result: string | null, reason: string | null): string {
    const action = named(w.tool, w.action);
    const id = w.number === null ? w.callId : `${spaceId}#${w.number}`;
    const why = reason ? ` Reason given: ${JSON.stringify(reason)}.` : '';
    switch (w.outcome) {
      case 'executed': {
        const how = w.settled
          ? `was in doubt and has been settled by a person: it ${w.status === 'Ok' ? 'happened' : 'did not happen'}`
          : w.status === 'Ok'
            ? 'was approved and executed'
            : 'was approved, but the execution failed';
        return `Your action ${action} (${id}) ${how}.${result ? `\nResult:\n${result}\n` : ' '}Go on.`;
      }
      case 'denied':
        return `Your action ${action} (${id}) was approved but not executed: ${w.reasonCode ?? 'it is no longer allowed'}. Nothing was done. Propose it anew if it is still needed, or finish.`;
      case 'rejected':
        return `Your action ${action} (${id}) was rejected by a person. It was not executed.${why} Do not propose the same call again; take the reason into account or finish.`;
      case 'expired':
        return `Your action ${action} (${id}) expired: nobody decided in time. It was not executed. Propose it anew if it is still needed, or finish.`;
      case 'withdrawn':
        return `Your action ${action} (${id}) was withdrawn${w.by ? ' by a person' : `: ${w.reasonCode ?? 'it is no longer allowed'}`}. It was not executed.${why} Do not propose the same call again, or finish.`;
    }
  },
} as const;
