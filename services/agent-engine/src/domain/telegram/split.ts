/**
 * A text in parts of at most `max` UTF-16 units, none of them blank: cut at the end of a line or a word where there is one in
 * the second half of a part, never inside a character. White space where it is cut, and around the whole, is left out.
 * @param mostParts beyond them the rest is left out, and `rest` stands at the end in its place
 */
export function split(text: string, max: number, mostParts: number, rest: string): string[] {
  const parts: string[] = [];
  let left = text.trim();
  while (left !== '') {
    if (left.length > max && parts.length === mostParts - 1) {
      const end = `\n${rest}`;
      parts.push(`${left.slice(0, cutAt(left, max - end.length)).trimEnd()}${end}`);
      break;
    }
    const at = left.length <= max ? left.length : cutAt(left, max);
    parts.push(left.slice(0, at).trimEnd());
    left = left.slice(at).trimStart();
  }
  return parts;
}

function cutAt(text: string, max: number): number {
  for (const mark of ['\n', ' ']) {
    const at = text.lastIndexOf(mark, max);
    if (at > max / 2) return at;
  }
  const before = text.charCodeAt(max - 1);
  return before >= 0xd800 && before <= 0xdbff ? max - 1 : max;
}
