import type { Language } from '../../domain/words.js';

// Our own sentences in a chat. Each says what to do next.

interface About {
  chatId: string;
  agent: string;
}

const en = {
  /** To a chat that nobody has entered: whoever is there learns nothing but whom to ask. */
  stranger: ({ chatId }: About) =>
    `This bot answers only in chats that its operator has entered. Ask them to enter this one: its id is ${chatId}.`,
  'not-member': ({ agent }: About) =>
    `Nothing was started: the person for whom this chat speaks is not a member of the space of ${agent}. Ask an owner or admin of the space, or the operator of this bot.`,
  'text-only': () => 'I can read text messages only. Please write what you need.',
  'too-long': () =>
    'Nothing was started: this message is too long. Send a shorter one, or put the text where the agent can read it.',
  failed: () =>
    'Nothing was started: something went wrong with this message. Send it again; if that fails too, ask the operator of this bot.',
  welcome: ({ agent }: About) =>
    `You are talking with ${agent}. Write what you need; /new begins a new conversation. What needs a decision is submitted for approval, and you are told here what came of it.`,
  'new-conversation': () =>
    'A new conversation begins with your next message. Answers to the old one still arrive here.',
} satisfies Record<string, (about: About) => string>;
export type Notice = keyof typeof en;

const de: Record<Notice, (about: About) => string> = {
  stranger: en.stranger,
  'not-member': ({ agent }) =>
    `Es wurde nichts begonnen: Die Person, für die dieser Chat spricht, ist kein Mitglied des Space von ${agent}. Frage einen Owner oder Admin des Space, oder wer diesen Bot betreibt.`,
  'text-only': () => 'Ich kann nur Textnachrichten lesen. Bitte schreibe, was du brauchst.',
  'too-long': () =>
    'Es wurde nichts begonnen: Diese Nachricht ist zu lang. Sende eine kürzere, oder lege den Text dort ab, wo der Agent ihn lesen kann.',
  failed: () =>
    'Es wurde nichts begonnen: Mit dieser Nachricht ging etwas schief. Sende sie noch einmal; geht es wieder schief, frage, wer diesen Bot betreibt.',
  welcome: ({ agent }) =>
    `Du sprichst mit ${agent}. Schreibe, was du brauchst; /new beginnt ein neues Gespräch. Was eine Entscheidung braucht, wird zur Freigabe vorgelegt, und du erfährst hier, was daraus wurde.`,
  'new-conversation': () =>
    'Mit deiner nächsten Nachricht beginnt ein neues Gespräch. Antworten auf das alte kommen weiter hier an.',
};

const all: Record<Language, Record<string, (about: About) => string>> = { en, de };

/** Of a notice that a later version wrote: the one that is always true. */
export const noticeText = (language: Language, notice: string, about: About): string =>
  (Object.hasOwn(all[language], notice) ? all[language][notice] : undefined)?.(about) ??
  all[language]['failed']?.(about) ??
  '';

const ends = {
  en: {
    nothing: 'Done; there is nothing to tell.',
    rest: (c: string) => `(The rest is too long for a chat: see conversation ${c}.)`,
  },
  de: {
    nothing: 'Fertig; es gibt nichts zu berichten.',
    rest: (c: string) => `(Der Rest ist zu lang für einen Chat: siehe Gespräch ${c}.)`,
  },
};
export const endOf = (language: Language) => ends[language];
