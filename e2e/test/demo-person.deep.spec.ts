import { type Stack, startStack } from '@holdpoint/local';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { decisionOf } from '../src/person.js';
import { playStory } from '../src/story.js';

describe('npm run demo', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ env: { OPENAI_BASE_URL: '', HOLDPOINT_MODEL: '' } });
  }, 120_000);
  afterAll(() => stack?.stop(), 60_000);

  it('plays on with whatever a person decides, and checks what follows from it', async () => {
    const said = jest.spyOn(console, 'log').mockImplementation(() => {});
    const answers = ['reject "Call her" --yes instead; don\'t write', 'approve'].values();
    const counts = await playStory({
      home: stack.home,
      urls: stack.urls,
      people: stack.people,
      ask: async () => decisionOf(answers.next().value ?? '') ?? { decision: 'reject' },
    });
    const story = said.mock.calls.join('\n');
    said.mockRestore();
    expect(counts).toMatchObject({ held: 2, approved: 1, rejected: 1, executed: 4, woken: 2 });
    expect(story).toMatch(/Nothing went out.*Call her.*The mail is out/s);
  }, 120_000);
});
