export class OutboxRelay {
  start(): void {
    throw new Error('being written');
  }
  stop(): Promise<void> {
    throw new Error('being written');
  }
  poke(): void {}
  whenSent(_eventId: string, _timeoutMs: number): Promise<number> {
    throw new Error('being written');
  }
}
