/** For the people of the space: what to do about a run that did not end well and left no text of its own. */
export function whatNow(reason: string | null): string {
  switch (reason) {
    case 'agent-unknown':
      return 'Nothing was done: the space has no such agent any more. Declare it in holdpoint.yaml and restart, or give the task to another agent.';
    case 'engine-lost':
      return 'The engine that played this run was lost. Look at the chain of the run for what its calls came to, then start another run in the same conversation.';
    case 'cancelled':
    case 'task-cancelled':
      return 'The run was cancelled. Calls that it holds for approval stay held; start another run if it is still needed.';
    default:
      return 'Something went wrong inside the engine; its log names this run and the cause. Look at the chain of the run for what its calls came to, then start another run in the same conversation.';
  }
}
