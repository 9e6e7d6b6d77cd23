/**
 * Text of a stranger made safe to show on one screen: every control, format, surrogate, private-use and unassigned
 * character, every separator other than a space and every combining run is written out as `\u{…}`. Lossless but for
 * the backslash, which is doubled.
 */
export function printable(text: string, options: { newlines?: boolean } = {}): string {
  let out = '';
  for (const ch of text) {
    if (ch === '\n' && options.newlines) out += ch;
    else if (ch === '\\') out += '\\\\';
    else if (
      /[\p{C}\p{Zl}\p{Zp}]/u.test(ch) ||
      (/\p{Zs}/u.test(ch) && ch !== ' ') ||
      /\p{Default_Ignorable_Code_Point}/u.test(ch)
    )
      out += `\\u{${(ch.codePointAt(0) as number).toString(16)}}`;
    else out += ch;
  }
  return out;
}
