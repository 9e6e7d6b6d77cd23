/**
 * What secrets look like that carry a mark of their kind. The part to be masked is the group `secret`, or else all of it.
 * Every gap is bounded, so that hostile text cannot make matching slow.
 */
export const PATTERNS: readonly RegExp[] = [
  // PEM, also with its line ends escaped, also cut off
  /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?<secret>(?:[\w+/=:,.()\s]|-(?!----)|\\[nr]){16,20000})/dg,
  /(?<![\w-])eyJ[\w-]{10,2000}\.eyJ[\w-]{10,8000}\.[\w-]{10,2000}/dg,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"'\\{}]{0,200}:(?<secret>[^\s/@"'\\]{3,200})@/dgi,
  /\b(?:AKIA|ASIA|AROA|AIDA)[A-Z2-7]{16}\b/dg,
  /\b(?:gh[pousr]_\w{36,251}|github_pat_\w{40,251}|glpat-[\w-]{20,100}|npm_\w{36,60})/dg,
  /\bxox[abeoprs]-[\w-]{10,250}/dg,
  /\b(?:sk|rk|whsec)_(?:(?:live|test)_)?[0-9a-zA-Z]{16,250}/dg,
  /\bsk-(?:[a-z]{2,10}-){0,2}[\w-]{20,250}/dg,
  /\bAIza[\w-]{35}/dg,
  /\b\d{8,10}:AA[\w-]{33}/dg,
  /\b(?:bearer|basic)\s{1,4}(?<secret>[\w.~+/-]{16,4000}=*)/dgi,
];

/** `password: value` and the like in running text, JSON inside a string included. */
export const ASSIGNMENT =
  /(?<!\w|\{\{)(?<key>[a-z][\w.-]{0,30}?(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)|password|passwd|pwd|passphrase|secret|token|api[_-]?key)(?:\\{0,3}["'])?\s{0,4}[:=]\s{0,4}(?:\\{0,3}["'])?(?<secret>[^\s"'\\,;&<>{}[\]]{4,400})/dgi;
