import type { CallPreview } from '@holdpoint/contracts';

type FileState = NonNullable<Extract<CallPreview, { kind: 'file' }>['after']>;

/** Of a file, what a preview shows. */
export const PREVIEW_BYTES = 8 * 1024;

/** @param beginning the first `PREVIEW_BYTES` of the file, or all of it; more is cut off here */
export function fileState(beginning: Uint8Array, size: number): FileState {
  const shown = beginning.subarray(0, PREVIEW_BYTES);
  const cut = size > shown.length;
  return { bytes: size, text: textOf(shown, cut), cut };
}

/** Null where the bytes are no UTF-8 text; a character that the end cuts in two is left out. */
function textOf(bytes: Uint8Array, cut: boolean): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: cut });
  } catch {
    return null;
  }
}
