/** The log disagrees with the stream, or with what was signed. Nothing more is written until a person has looked; nothing is ever skipped. */
export class LogHalted extends Error {
  override readonly name = 'LogHalted';
  constructor(
    readonly code:
      | 'audit.stream-behind'
      | 'audit.stream-differs'
      | 'audit.gap'
      | 'audit.tree-damaged'
      | 'audit.checkpoint-ahead'
      | 'audit.checkpoint-differs'
      | 'audit.origin-differs'
      | 'audit.key-unknown',
    /** What is wrong and what to do, for the operator. */
    readonly detail: string,
  ) {
    super(`${code}: ${detail}`);
  }
}
