/** Marks that may stand on one letter; more of them would draw over the lines around it. */
const MOST_MARKS = 4;

/**
 * Text of a stranger made safe to show on one screen: control, format, surrogate, private-use, unassigned and invisible
 * characters, separators other than a space, and marks piled upon a letter are written out as `\u{…}`. To keep that
 * readable backwards a backslash is doubled, except in JSON, where `\u{` cannot occur by itself.
 */
export function printable(text: string, options: { newlines?: boolean; json?: boolean } = {}): string {
  let out = '';
  let marks = 0;
  for (const ch of text) {
    marks = /\p{M}/u.test(ch) ? marks + 1 : 0;
    if (ch === '\n' && options.newlines) out += ch;
    else if (ch === '\\') out += options.json ? ch : '\\\\';
    else if (marks > MOST_MARKS || isHidden(ch)) out += `\\u{${(ch.codePointAt(0) as number).toString(16)}}`;
    else out += ch;
  }
  return out;
}

/** U+2800 and U+1D159 are symbols by their class and leave nothing to see. */
const isHidden = (ch: string): boolean =>
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/u.test(ch) || (ch !== ' ' && /\p{Zs}/u.test(ch));
