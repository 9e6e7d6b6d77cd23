const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/**
 * The path of the first key that an object of `json` has twice, such as `work.prompt`. `JSON.parse` would keep the last and
 * a proxy or log before us may read the first, so such a body says two things at once (RFC 8259, section 4). Keys are
 * compared as they read, not as they are spelled. Linear in time, and nesting costs no stack.
 * @param json text that `JSON.parse` has taken
 */
export function repeatedKey(json: string): string | undefined {
  /** One entry a level; an array's has no keys. */
  const open: { keys: Set<string> | null; at: string | number }[] = [];
  let string = '';
  for (const [t] of json.matchAll(token)) {
    const level = open.at(-1);
    if (t === '{') open.push({ keys: new Set(), at: '' });
    else if (t === '[') open.push({ keys: null, at: 0 });
    else if (t === '}' || t === ']') open.pop();
    else if (t === ',') {
      if (typeof level?.at === 'number') level.at++;
    } else if (t === ':' && level?.keys) {
      const key = JSON.parse(string) as string;
      level.at = key;
      if (level.keys.has(key)) return open.map((l) => l.at).join('.');
      level.keys.add(key);
    } else string = t;
  }
  return undefined;
}
