import { expect, test } from '@jest/globals';
import { readUpdates } from './update.js';

const chat = { id: 100, type: 'private' };
const of = (message: unknown) => readUpdates([{ update_id: 7, message }])?.[0];

test.each([
  [{ text: 'Hello' }, { kind: 'text', text: 'Hello' }],
  [{ text: '/new' }, { kind: 'new', text: undefined }],
  [{ text: '/new@acme_bot  do this\nnow' }, { kind: 'new', text: 'do this\nnow' }],
  [{ text: '/newer' }, { kind: 'text', text: '/newer' }],
  [{ text: '/start payload' }, { kind: 'start' }],
  [{ text: ' \n' }, { kind: 'other' }],
  [{ photo: [] }, { kind: 'other' }],
  [{ new_chat_members: [] }, { kind: 'nothing' }],
  [{ text: 'I am a bot', from: { is_bot: true } }, { kind: 'nothing' }],
])('%j', (message, said) => {
  expect(of({ chat, ...message })).toEqual({ id: 7, chatId: '100', said });
});

test('chat ids keep every digit', () => {
  expect(of({ chat: { id: -9007199254740993n }, text: 'x' })?.chatId).toBe('-9007199254740993');
});

test('what has no message that can be read is taken up and does nothing; what has no id is no answer of the Bot API', () => {
  for (const message of [undefined, null, 'x', {}, { chat: {} }, { chat, text: 5 }])
    expect(of(message)).toEqual({ id: 7, chatId: null, said: { kind: 'nothing' } });
  for (const result of [undefined, {}, [{}], [{ update_id: 'x' }]]) expect(readUpdates(result)).toBeUndefined();
});
