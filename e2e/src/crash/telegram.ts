import { startTelegram, type TestTelegram } from '@holdpoint/testing';
import type { Probe } from './probe.js';

const CHAT = '-1001234567890';

/** Messages at a Bot API of our own, counted by what stands in the chat. */
export function telegramProbe(): Probe {
  let telegram: TestTelegram | undefined;
  return {
    name: 'Telegram.send_message',
    executionClass: 'at-most-once',
    remote: async () => {
      const started = await startTelegram({ [CHAT]: { type: 'supergroup', title: 'Probes' } });
      telegram = started;
      const env = {
        TELEGRAM_API_URL: started.url,
        TELEGRAM_BOT_TOKEN: started.token,
        TELEGRAM_TIMEOUT_MS: '1000',
      };
      return { env, stop: () => started.stop() };
    },
    args: (n) => `{"action":"send_message","chat_id":${CHAT},"text":"probe ${n}."}`,
    effects: async (_stack, { n }) => {
      const { complaints = [] } = telegram ?? {};
      if (complaints.length > 0) throw new Error(`the Bot API was asked wrongly: ${complaints.join('; ')}`);
      return telegram?.told(CHAT).filter((text) => text === `probe ${n}.`).length ?? 0;
    },
  };
}
