import { expect, test } from '@jest/globals';
import { ConsumersError, durableNames, parseConsumers } from './foreign-consumers.js';

const declared = (subjects: string, name = 'notifier') => `consumers:\n  ${name}:\n    subjects: ${subjects}\n`;

test('a consumer has a durable for each of its subjects', () => {
  const [consumer] = parseConsumers(declared('["tool.executed.acme.>", "approval.*.acme.>"]'));
  expect(consumer).toEqual({ name: 'notifier', subjects: ['tool.executed.acme.>', 'approval.*.acme.>'] });
  expect(durableNames(consumer as NonNullable<typeof consumer>)).toEqual([
    'foreign_notifier__tool_executed_acme',
    'foreign_notifier__approval_any_acme',
  ]);
  expect(parseConsumers('policy: {}\n')).toEqual([]);
});

test.each([
  ['everything', '[">"]'],
  ['a prefix of its own', '["orders.>"]'],
  ['the API of the stream', '["$JS.API.>"]'],
  ['a subject that another level would slip by', '["approval.*"]'],
  ['a hint', '["hint.tool.>"]'],
  ['nothing', '[]'],
  ['the same twice', '["run.>", "run.>"]'],
  ['two that would share a durable', '["run.*.>", "run.any.>"]'],
])('%s is refused', (_, subjects) => expect(() => parseConsumers(declared(subjects))).toThrow(ConsumersError));

test('what is no YAML is said in one line, also of the sections of others', () => {
  expect(() => parseConsumers('policy:\n  rules: []\npolicy:\n  rules: []\n')).toThrow(
    'holdpoint.yaml:3: the section `policy` is there already (line 1): add to that one',
  );
  expect(() => parseConsumers('policy:\n\trules: []\n')).toThrow(/^holdpoint\.yaml:2: [^\n]+$/);
});

test('a name that could be taken for something else is refused', () => {
  for (const name of ['a_b', 'A', '"a.b"', '">"', '""'])
    expect(() => parseConsumers(declared('["run.>"]', name))).toThrow(ConsumersError);
});
