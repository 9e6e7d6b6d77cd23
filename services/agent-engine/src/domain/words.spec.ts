import type { WakeUp } from '@holdpoint/contracts';
import { describe, expect, it, test } from '@jest/globals';
import { type Words, words } from './words.js';

// Both languages say the same things: every fact that one names, the other names.

const wakeUp = (more: Partial<WakeUp>): Parameters<Words['wakeUp']> => [
  {
    callId: '01callid',
    number: 42,
    tool: 'Mail',
    action: 'send',
    outcome: 'executed',
    status: 'Ok',
    settled: false,
    reasonCode: null,
    by: null,
    result: null,
    reason: null,
    ...more,
  },
  'acme',
  'the whole result',
  'too "early"',
];

type Texts = Omit<Words, 'arguments'>;
const calls: { [K in keyof Texts]: Parameters<Texts[K]>[] } = {
  unknownTool: [[['Mail', 'FileRW']], [[]]],
  refusedArguments: [['the exact message']],
  secretLiteral: [
    [[{ name: 'PIN', places: [{ tool: 'Mail', action: 'send', field: 'body' }] }], false],
    [[], true],
  ],
  secretNotAllowed: [
    ['Mail', 'send', { field: 'body', name: 'PIN', allowed: ['OTHER'] }],
    ['Mail', 'send', { field: 'body', name: null, allowed: [] }],
  ],
  providerExecuted: [[]],
  cutOff: [[]],
  repeated: [[2]],
  submitted: [
    ['acme', '01callid', 42],
    ['acme', '01callid', null],
  ],
  denied: [['destructive-not-allowed', 'builtin: Mail.send', 'policyversion']],
  noVerdict: [[]],
  policyUnreachable: [[]],
  policyChanged: [['rule-7']],
  cancelled: [[]],
  claimedElsewhere: [[]],
  inDoubt: [
    ['Mail', 'send'],
    ['Mail', null],
  ],
  proposedAnew: [['01callid']],
  failed: [['the mail server said 550']],
  notStarted: [[]],
  settled: [[true], [false]],
  interrupted: [[]],
  modelFailed: [
    ['model.refused', 'it answered 401'],
    ['model.unavailable', 'it answered 503'],
    ['model.cut-off', 'its answer ended in the middle'],
  ],
  stepLimit: [[24]],
  tokenBudget: [[1234, 1000]],
  wakeUp: [
    wakeUp({}),
    wakeUp({ status: 'Error' }),
    wakeUp({ settled: true }),
    wakeUp({ settled: true, status: 'Error', number: null }),
    wakeUp({ outcome: 'denied', reasonCode: 'approval.lapsed' }),
    wakeUp({ outcome: 'denied' }),
    wakeUp({ outcome: 'rejected' }),
    wakeUp({ outcome: 'expired' }),
    wakeUp({ outcome: 'withdrawn', by: null, reasonCode: 'policy.denied' }),
    wakeUp({ outcome: 'withdrawn' }),
  ],
  reminders: [[]],
  flagged: [
    ['Mail', ['injection-marker', 'hidden-characters']],
    ['Mail', ['secret-suspected']],
  ],
  refusedAgain: [['Mail', 2]],
  stepsNearlyUsed: [[24]],
  tokensNearlyUsed: [[900, 1000]],
  compacted: [[17]],
  summariser: [[]],
  summarise: [[]],
  summary: [['what was said']],
};

/** What the caller put in, but for the kind of a wake-up, which each language says in its own words. */
const leaves = (given: unknown): string[] =>
  typeof given === 'object' && given !== null
    ? Object.entries(given).flatMap(([k, v]) => (k === 'outcome' || k === 'status' ? [] : leaves(v)))
    : [String(given)];

/** Numbers, ids and whatever the caller put in, and the code at the beginning. */
function factsOf(text: string, given: unknown): string[] {
  const code = /^(NotFound|Error|Denied|Unknown|Interrupted|Submitted)\b/.exec(text)?.[1];
  const numbers = text.match(/[a-z]*#?\d+/g) ?? [];
  return [...(code ? [code] : []), ...numbers, ...leaves(given).filter((put) => text.includes(put))].sort();
}

describe.each(Object.entries(calls) as [keyof Texts, unknown[][]][])('%s', (key, given) => {
  it.each(given.map((args) => [args]))('names the same facts in both languages, %j', (args) => {
    const say = (language: 'en' | 'de') => (words[language][key] as (...a: unknown[]) => string)(...args);
    expect(say('de')).not.toBe(say('en'));
    expect(factsOf(say('de'), args)).toEqual(factsOf(say('en'), args));
  });
});

it('has every text in every language, and each was looked at above', () => {
  for (const language of Object.values(words)) {
    expect(Object.keys(language).sort()).toEqual(['arguments', ...Object.keys(calls)].sort());
    expect(Object.keys(language.arguments).sort()).toEqual(Object.keys(words.en.arguments).sort());
  }
});

test.each(Object.keys(words.en.arguments) as (keyof Words['arguments'])[])('%s names the same facts', (code) => {
  const names = (text: string) => text.match(/U\+0000|__proto__|RFC 8259|\\n|\\t|JSON/g) ?? [];
  expect(names(words.de.arguments[code])).toEqual(names(words.en.arguments[code]));
  expect(words.de.arguments[code]).not.toBe(words.en.arguments[code]);
});
