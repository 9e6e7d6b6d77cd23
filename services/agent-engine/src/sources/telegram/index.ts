import { DATABASE, IdentityFile, Keyring, policyMemberships } from '@holdpoint/runtime';
import type { FactoryProvider } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { AgentDeclaration, EngineConfig } from '../../config.js';
import { StartRun } from '../../run/start-run.js';
import { Runs } from '../../store/runs.js';
import type { Database } from '../../store/schema.js';
import { TelegramStore } from '../../store/telegram.js';
import { BotApi } from '../../telegram/bot-api.js';
import { botOf } from '../../telegram/settings.js';
import { Answers } from './answers.js';
import { Chats, type People } from './chats.js';
import { Intake } from './intake.js';
import { TelegramSource } from './telegram-source.js';

/**
 * Nothing unless an agent has chats.
 * @throws when one has and there is no bot to listen with
 */
export function telegramProviders(
  config: EngineConfig,
  agents: ReadonlyMap<string, AgentDeclaration>,
): FactoryProvider[] {
  const chats = new Chats(agents.values(), peopleOf(config));
  if (chats.none) return [];
  const { TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_API_URL: url, TELEGRAM_TIMEOUT_MS: timeoutMs } = config;
  if (botToken === undefined) {
    const agent = [...agents.values()].find((a) => a.telegram)?.name;
    throw new Error(
      `${config.HOLDPOINT_CONFIG}: agents.${agent}.telegram: there is no bot unless TELEGRAM_BOT_TOKEN is set`,
    );
  }
  const api = new BotApi(url, botToken);
  return [
    {
      provide: TelegramSource,
      inject: [DATABASE, StartRun, Runs, Keyring],
      useFactory: (db: Kysely<Database>, startRun: StartRun, runs: Runs, keyring: Keyring) => {
        const store = new TelegramStore(db, botOf(botToken));
        const intake = new Intake(db, store, startRun, chats);
        const answers = new Answers(store, api, runs, keyring, chats, timeoutMs);
        return new TelegramSource(config.DATABASE_URL, api, store, intake, answers);
      },
    },
  ];
}

/** From where everybody's roles come: policy where people sign in at an issuer, and else the identity file. */
function peopleOf(config: EngineConfig): People {
  if (config.OIDC_ISSUER === undefined) return new IdentityFile(config.HOLDPOINT_IDENTITY_FILE);
  const memberships = policyMemberships(config.POLICY_URL, config.HOLDPOINT_SERVICE_TOKEN);
  return {
    person: async (id) => ({ kind: 'person', id, name: id, ...(await memberships.standingOf(id)) }),
  };
}
