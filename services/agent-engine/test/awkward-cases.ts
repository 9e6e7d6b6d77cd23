/** Argument texts as models have emitted them, and what becomes of each (charter, sections 4 and 5). */
export interface AwkwardCase {
  id: string;
  kind: string;
  tool: string;
  /** Byte for byte what the model writes. */
  args: string;
  /** The code of the refusal, or what the tool receives once a person has released the call. */
  becomes: { refused: string } | { received: Record<string, unknown> };
}

const refused = (code: string) => ({ refused: code });
const received = (values: Record<string, unknown>) => ({ received: values });
const nested = (count: number) => `{"action":"set","values":${'['.repeat(count)}${']'.repeat(count)}}`;
const manyKeys = `{"action":"set","values":{${Array.from({ length: 10_000 }, (_, i) => `"k${i}":${i}`).join(',')}}}`;

export const awkwardCases: AwkwardCase[] = [
  { id: 'aw-01', kind: 'empty string', tool: 'Doc', args: '', becomes: refused('arguments.empty') },
  { id: 'aw-03', kind: 'literal null', tool: 'Bank', args: 'null', becomes: refused('arguments.not-object') },
  {
    id: 'aw-05',
    kind: 'raw newline',
    tool: 'Shell',
    args: '{"action":"run","command":"line one\nline two"}',
    becomes: refused('arguments.control-character'),
  },
  {
    id: 'aw-07',
    kind: 'invalid escape',
    tool: 'File',
    args: '{"action":"delete","path":"C:\\data\\old"}',
    becomes: refused('arguments.not-json'),
  },
  {
    id: 'aw-09',
    kind: 'unquoted value',
    tool: 'Shell',
    args: '{"action":"run","command": invoices}',
    becomes: refused('arguments.not-json'),
  },
  {
    id: 'aw-11',
    kind: 'code fence',
    tool: 'File',
    args: '```json\n{"action":"delete","path":"/srv/x"}\n```',
    becomes: refused('arguments.not-json'),
  },
  {
    id: 'aw-13',
    kind: 'code expression',
    tool: 'Shell',
    args: '{"action":"run","command":"rows: " + json.dumps([1,2])}',
    becomes: refused('arguments.not-json'),
  },
  {
    id: 'aw-15',
    kind: 'byte order mark',
    tool: 'Shell',
    args: '\ufeff{"action":"run","command":"x"}',
    becomes: refused('arguments.not-json'),
  },
  {
    id: 'aw-17',
    kind: 'two objects',
    tool: 'File',
    args: '{"action":"delete","path":"/tmp/a"}{"action":"delete","path":"/srv/b"}',
    becomes: refused('arguments.not-json'),
  },
  {
    id: 'aw-19',
    kind: 'cut off but valid',
    tool: 'File',
    args: '{"action":"write","path":"/srv/app.conf"}',
    becomes: refused('arguments.schema'),
  },
  {
    id: 'aw-21',
    kind: 'duplicate key',
    tool: 'File',
    args: '{"action":"delete","path":"d1","path":"d2","path":"d3"}',
    becomes: refused('arguments.duplicate-key'),
  },
  {
    id: 'aw-23',
    kind: 'duplicate key below',
    tool: 'Config',
    args: '{"action":"set","values":{"to":"A","amount":1,"to":"B"}}',
    becomes: refused('arguments.duplicate-key'),
  },
  {
    id: 'aw-25',
    kind: 'big integer',
    tool: 'Records',
    args: '{"action":"delete","id":9007199254740993}',
    becomes: received({ action: 'delete', id: 9_007_199_254_740_993n }),
  },
  {
    id: 'aw-27',
    kind: 'NaN',
    tool: 'Bank',
    args: '{"action":"transfer","to":"A","amount":NaN}',
    becomes: refused('arguments.not-json'),
  },
  {
    id: 'aw-29',
    kind: 'overflow',
    tool: 'Bank',
    args: '{"action":"transfer","to":"A","amount":1e999}',
    becomes: refused('arguments.number-overflow'),
  },
  {
    id: 'aw-31',
    kind: 'negative zero',
    tool: 'Bank',
    args: '{"action":"transfer","to":"A","amount":-0}',
    becomes: received({ action: 'transfer', to: 'A', amount: -0 }),
  },
  {
    id: 'aw-33',
    kind: 'boolean as string',
    tool: 'Server',
    args: '{"action":"restart","dry_run":"false"}',
    becomes: refused('arguments.schema'),
  },
  {
    id: 'aw-35',
    kind: 'null for an optional field',
    tool: 'File',
    args: '{"action":"write","path":"a","content":"b","mode":null}',
    becomes: refused('arguments.schema'),
  },
  {
    id: 'aw-37',
    kind: 'nullable field left out',
    tool: 'Doc',
    args: '{"action":"create","title":"x"}',
    becomes: refused('arguments.schema'),
  },
  {
    id: 'aw-39',
    kind: 'JSON in a string',
    tool: 'Todo',
    args: '{"action":"set","items":"[{\\"t\\":\\"a\\"}]"}',
    becomes: refused('arguments.schema'),
  },
  {
    id: 'aw-41',
    kind: 'list literal in a string',
    tool: 'Shell',
    args: '{"action":"run","command":"[\'a@example.test\', \'x@evil.test\']"}',
    becomes: received({ action: 'run', command: "['a@example.test', 'x@evil.test']" }),
  },
  { id: 'aw-43', kind: 'depth bomb', tool: 'Config', args: nested(20_000), becomes: refused('arguments.too-deep') },
  {
    id: 'aw-45',
    kind: 'many keys',
    tool: 'Config',
    args: manyKeys,
    becomes: received({
      action: 'set',
      values: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i])),
    }),
  },
  {
    id: 'aw-47',
    kind: 'escaped surrogate pair',
    tool: 'Shell',
    args: '{"action":"run","command":"echo \\ud83c\\udf78"}',
    becomes: received({ action: 'run', command: 'echo 🍸' }),
  },
  {
    id: 'aw-49',
    kind: 'zero width',
    tool: 'File',
    args: '{"action":"delete","path":"/srv/prod\u200b/db"}',
    becomes: received({ action: 'delete', path: '/srv/prod\u200b/db' }),
  },
  {
    id: 'aw-51',
    kind: 'look-alike action',
    tool: 'Records',
    args: '{"action":"dеlete","id":42}',
    becomes: refused('arguments.action-unknown'),
  },
  {
    id: 'aw-53',
    kind: 'NUL',
    tool: 'File',
    args: '{"action":"delete","path":"/tmp/ok\\u0000/../../srv"}',
    becomes: refused('arguments.nul'),
  },
  {
    id: 'aw-55',
    kind: 'HTML entities',
    tool: 'Shell',
    args: '{"action":"run","command":"a &amp;&amp; rm -rf /srv"}',
    becomes: received({ action: 'run', command: 'a &amp;&amp; rm -rf /srv' }),
  },
  {
    id: 'aw-57',
    kind: 'case of the action',
    tool: 'Records',
    args: '{"action":"Delete","id":42}',
    becomes: refused('arguments.action-unknown'),
  },
  {
    id: 'aw-59',
    kind: 'spaces around the action',
    tool: 'Records',
    args: '{"action":" delete ","id":42}',
    becomes: refused('arguments.action-unknown'),
  },
  {
    id: 'aw-61',
    kind: 'action as an object',
    tool: 'Records',
    args: '{"action":{"name":"delete"},"id":42}',
    becomes: refused('arguments.action-unknown'),
  },
  { id: 'aw-63', kind: 'no action', tool: 'Records', args: '{"id":42}', becomes: refused('arguments.action-missing') },
  {
    id: 'aw-65',
    kind: 'action in two places',
    tool: 'Records',
    args: '{"action":"list","params":{"action":"delete"},"id":42}',
    becomes: refused('arguments.schema'),
  },
  {
    id: 'aw-67',
    kind: '__proto__',
    tool: 'Config',
    args: '{"__proto__":{"auto":true},"action":"set","values":{}}',
    becomes: refused('arguments.proto-key'),
  },
  {
    id: 'aw-69',
    kind: 'name with a dot',
    tool: 'calendar.respondToEvent',
    args: '{"id":"e1"}',
    becomes: refused('tool.not-found'),
  },
  {
    id: 'aw-71',
    kind: 'case of the name',
    tool: 'shell',
    args: '{"action":"run","command":"x"}',
    becomes: refused('tool.not-found'),
  },
  {
    id: 'aw-73',
    kind: 'name over 64',
    tool: `mcp__${'a'.repeat(60)}_delete`,
    args: '{"x":1}',
    becomes: refused('tool.not-found'),
  },
  {
    id: 'aw-75',
    kind: 'special tokens in the name',
    tool: 'send_mail<|channel|>commentary',
    args: '{"to":"a@example.test"}',
    becomes: refused('tool.not-found'),
  },
  {
    id: 'aw-77',
    kind: 'invented wrapper',
    tool: 'multi_tool_use.parallel',
    args: '{"tool_uses":[{"recipient_name":"functions.Shell","parameters":{"action":"run","command":"x"}}]}',
    becomes: refused('tool.not-found'),
  },
];
