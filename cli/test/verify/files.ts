import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from '../../verify/holdpoint-verify.mjs';
import { type Line, Signer, textOf } from './log.js';

/** Exports and checkpoints as files, since files are what the verifier takes. */
export class Files {
  readonly dir = mkdtempSync(join(tmpdir(), 'holdpoint-verify-'));
  #count = 0;

  write(content: string | Uint8Array | readonly Line[]): string {
    const path = join(this.dir, `${++this.#count}`);
    writeFileSync(path, typeof content === 'string' || content instanceof Uint8Array ? content : textOf(content));
    return path;
  }

  /** What the verifier says of it, with the keys, checkpoints and the older export that an auditor kept. */
  check(
    content: string | Uint8Array | readonly Line[],
    {
      keys = [new Signer('first').vkey],
      kept = [],
      against,
    }: { keys?: string[]; kept?: string[]; against?: Line[] } = {},
  ) {
    return check({
      file: this.write(content),
      keys,
      checkpoints: kept.map((note) => this.write(note)),
      against: against && this.write(against),
    });
  }

  close(): void {
    rmSync(this.dir, { recursive: true });
  }
}
