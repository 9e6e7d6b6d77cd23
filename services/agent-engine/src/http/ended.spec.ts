import { expect, it } from '@jest/globals';
import { words } from '../domain/words.js';
import { whatNow } from './ended.js';

it.each(['agent-unknown', 'engine-error', 'engine-lost', 'cancelled', 'task-cancelled', 'something newer', null])(
  'a run that ended as %s says what to do next',
  (reason) => {
    expect(whatNow(reason)).toMatch(/start another run|give the task to another agent/);
  },
);

it.each(['model.unavailable', 'model.refused', 'model.cut-off', 'model.garbled'])('so does %s', (reason) => {
  expect(words.en.modelFailed(reason, 'it cannot be reached')).toMatch(/start another run/i);
});

it('so do the limits', () => {
  for (const text of [words.en.stepLimit(24), words.en.tokenBudget(1234, 1000)])
    expect(text).toMatch(/Start another run .* or raise max(Steps|Tokens)/);
});
