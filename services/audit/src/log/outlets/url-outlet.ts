import type { Published } from './outlet.js';

const TIMEOUT_MS = 10_000;

/** Posts each note as plain text to a witness or a collector. */
export class UrlOutlet {
  readonly name: string;

  constructor(private readonly url: string) {
    // Without what may be a secret in it.
    this.name = new URL(url).origin;
  }

  async put({ note }: Published): Promise<void> {
    const answer = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: note,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
  }
}
