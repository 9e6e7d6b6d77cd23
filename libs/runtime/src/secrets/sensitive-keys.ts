/** Ends of names, in lower case and without separators, under which secrets stand. */
const NAMES =
  /(?:passwords?|passwd|pwd|passphrases?|secrets?|tokens?|apikeys?|accesskeys?|accesskeyids?|secretkeys?|privatekeys?|signingkeys?|encryptionkeys?|authorization|credentials?|cookies?|sessionids?|bearer)$/;
/** Names that end like them and stand for other things: what a model reads and writes, and places in a list. */
const HARMLESS = /(?:prompt|completion|cached|total|input|output|max|num|page|next|cursor|continuation|sync)tokens?$/;

/** Whether something of this name is likely to be a secret: `password`, `X-API-Key`, `db_passwd`, `clientSecret`. */
export function sensitiveKey(name: string): boolean {
  const plain = name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
  return NAMES.test(plain) && !HARMLESS.test(plain);
}
