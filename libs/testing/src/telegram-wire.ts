/** The fields of a request. Integers are kept as they were spelled, marked by their type. */
export type Fields = Record<string, unknown>;

class Spelled {
  constructor(readonly digits: string) {}
  toString() {
    return this.digits;
  }
}

type Check = (value: unknown) => boolean;
const integer =
  (min: number, max: number): Check =>
  (v) =>
    v instanceof Spelled && /^-?\d+$/.test(v.digits) && Number(v.digits) >= min && Number(v.digits) <= max;
const text: Check = (v) => typeof v === 'string';
const chat: Check = (v) => integer(-(2 ** 63), 2 ** 63)(v) || (typeof v === 'string' && /^@\w{4,32}$/.test(v));

/** Every field that a method takes here; those with `?` may be left out. */
const METHODS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  sendMessage: { chat_id: chat, text, link_preview_options: (v) => JSON.stringify(v) === '{"is_disabled":true}' },
  getChat: { chat_id: chat },
  getUpdates: {
    'offset?': integer(1, 2 ** 53),
    limit: integer(1, 100),
    timeout: integer(0, 50),
    allowed_updates: (v) => JSON.stringify(v) === '["message"]',
  },
};

/** @returns what the request holds, or why it is no JSON object in UTF-8 */
export function paramsOf(body: Buffer): Fields | string {
  try {
    const parse = JSON.parse as (
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ) => unknown;
    const value = parse(new TextDecoder('utf-8', { fatal: true }).decode(body), (_key, v, { source }) =>
      typeof v === 'number' && source !== undefined ? new Spelled(source) : v,
    );
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : 'no JSON object';
  } catch {
    return 'no JSON in UTF-8';
  }
}

/** @returns what does not belong to the method, or undefined */
export function unexpected(method: string, params: Fields): string | undefined {
  const known = METHODS[method];
  if (known === undefined) return 'no such method';
  const checks = new Map(Object.entries(known).map(([name, check]) => [name.replace('?', ''), check]));
  const strange = Object.keys(params).find((name) => !checks.has(name));
  if (strange !== undefined) return `the unknown field ${strange}`;
  const missing = Object.keys(known).find((name) => !name.endsWith('?') && !Object.hasOwn(params, name));
  if (missing !== undefined) return `without ${missing}`;
  const wrong = Object.entries(params).find(([name, value]) => checks.get(name)?.(value) !== true);
  return wrong && `${wrong[0]} is ${JSON.stringify(wrong[1])}`;
}
