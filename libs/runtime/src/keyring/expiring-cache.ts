/** A bounded map whose entries end a fixed time after they were set, however often they are read. The oldest goes first. */
export class ExpiringCache<V> {
  readonly #entries = new Map<string, { value: V; until: number }>();

  constructor(
    private readonly ttlMs: number,
    private readonly maxSize: number,
  ) {}

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (performance.now() < entry.until) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: performance.now() + this.ttlMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.maxSize) break;
      this.#entries.delete(oldest);
    }
  }
}
