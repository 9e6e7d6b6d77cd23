/** A signed note (c2sp.org/signed-note): text, and who signed it. */
export interface Note {
  /** Ends in a line feed. */
  text: string;
  signatures: { name: string /** Four bytes that name the key, then the signature. */; blob: Uint8Array }[];
}

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const bytesOf = (text: string): Uint8Array => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

export const formatNote = ({ text, signatures }: Note): string =>
  `${text}\n${signatures.map((s) => `— ${s.name} ${base64(s.blob)}\n`).join('')}`;

/** Null for what is no signed note. Nothing is verified. */
export function parseNote(note: string): Note | null {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) return null;
  const lines = note.slice(end + 2, -1).split('\n');
  const signatures = lines.map((line) => /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line));
  if (!signatures.every((m) => m !== null)) return null;
  return {
    text: note.slice(0, end + 1),
    signatures: signatures.map(([, name = '', blob = '']) => ({ name, blob: bytesOf(blob) })),
  };
}

/** What a checkpoint says (c2sp.org/tlog-checkpoint): of which log, how many leaves, and the root over them. */
export interface Checkpoint {
  origin: string;
  size: number;
  root: Uint8Array;
  /** Stream sequence of the first leaf. */
  firstSeq: number;
}

export const checkpointText = ({ origin, size, root, firstSeq }: Checkpoint): string =>
  `${origin}\n${size}\n${base64(root)}\nfirst ${firstSeq}\n`;

/** Null for what is no checkpoint of ours. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const found = /^(\S+)\n(0|[1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\nfirst ([1-9]\d{0,15})\n$/.exec(text);
  if (found === null) return null;
  const [, origin = '', size, root = '', firstSeq] = found;
  return { origin, size: Number(size), root: bytesOf(root), firstSeq: Number(firstSeq) };
}

/** By which the key that signs hands over to the next: signed by the old one alone. */
export const keyText = (origin: string, vkey: string, sinceSize: number): string =>
  `${origin}\nkey\n${vkey}\n${sinceSize}\n`;

/** What a key statement says; null for what is none. */
export function parseKey(text: string): { origin: string; vkey: string; sinceSize: number } | null {
  const found = /^(\S+)\nkey\n(\S+)\n(0|[1-9]\d{0,15})\n$/.exec(text);
  if (found === null) return null;
  const [, origin = '', vkey = '', sinceSize] = found;
  return { origin, vkey, sinceSize: Number(sinceSize) };
}
