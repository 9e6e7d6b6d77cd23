import { type Kysely, sql } from 'kysely';

/**
 * Telegram as a source of runs: an update starts at most one run, in the transaction that notes it; an answer is claimed
 * before it is sent and never sent again unless it is certain that it was not.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE agent_engine.telegram_bots (
      bot         text PRIMARY KEY CHECK (bot ~ '^[0-9]{1,20}$'),
      -- from where on Telegram is asked for updates; also the fence between two engines that both believe to be asking
      next_update bigint,
      moved_at    timestamptz
    );
    COMMENT ON TABLE agent_engine.telegram_bots IS 'backed-up: up to where the updates of a bot are taken up';

    CREATE TABLE agent_engine.telegram_updates (
      bot         text NOT NULL REFERENCES agent_engine.telegram_bots,
      update_id   bigint NOT NULL,
      chat_id     text CHECK (chat_id ~ '^-?[0-9]{1,19}$'),
      run_id      text UNIQUE REFERENCES agent_engine.runs DEFERRABLE INITIALLY DEFERRED,
      received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (bot, update_id)
    );
    COMMENT ON TABLE agent_engine.telegram_updates IS 'backed-up: which updates were taken up, and the one run that each of them may have';

    CREATE TABLE agent_engine.telegram_conversations (
      conversation_id text PRIMARY KEY REFERENCES agent_engine.conversations DEFERRABLE INITIALLY DEFERRED,
      bot             text NOT NULL REFERENCES agent_engine.telegram_bots,
      chat_id         text NOT NULL CHECK (chat_id ~ '^-?[0-9]{1,19}$'),
      current         boolean NOT NULL DEFAULT true,
      begun_at        timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    COMMENT ON TABLE agent_engine.telegram_conversations IS 'backed-up: which chat a conversation is led in';
    CREATE UNIQUE INDEX telegram_conversations_current ON agent_engine.telegram_conversations (bot, chat_id) WHERE current;

    CREATE TABLE agent_engine.telegram_messages (
      message_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      bot        text NOT NULL REFERENCES agent_engine.telegram_bots,
      chat_id    text NOT NULL CHECK (chat_id ~ '^-?[0-9]{1,19}$'),
      -- what is said: the end of a run, or one of our own sentences
      run_id     text UNIQUE REFERENCES agent_engine.runs,
      notice     text,
      state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sending', 'sent', 'refused', 'withheld', 'unknown')),
      -- how many parts of a long text were sent
      part       integer NOT NULL DEFAULT 0 CHECK (part >= 0),
      claim      text,
      claimed_at timestamptz,
      due_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      tries      integer NOT NULL DEFAULT 0,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK ((run_id IS NULL) <> (notice IS NULL)),
      CHECK ((state = 'sending') <= (claim IS NOT NULL AND claimed_at IS NOT NULL))
    );
    COMMENT ON TABLE agent_engine.telegram_messages IS 'backed-up: what chats are told, each part at most once';
    CREATE INDEX telegram_messages_open ON agent_engine.telegram_messages (due_at) WHERE state IN ('waiting', 'sending');
    CREATE INDEX telegram_messages_strangers ON agent_engine.telegram_messages (created_at) WHERE notice = 'stranger';

    -- What was claimed and has no certain end is never claimed again.
    CREATE FUNCTION agent_engine.guard_telegram_message() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.state NOT IN ('waiting', 'sending')
         OR NEW.part NOT IN (OLD.part, OLD.part + 1)
         OR (NEW.state = 'sending' AND OLD.state <> 'waiting')
         OR (NEW.bot, NEW.chat_id, NEW.run_id, NEW.notice) IS DISTINCT FROM (OLD.bot, OLD.chat_id, OLD.run_id, OLD.notice)
      THEN RAISE EXCEPTION 'message % cannot go from % to %', OLD.message_id, OLD.state, NEW.state USING ERRCODE = 'check_violation';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER guard_telegram_message BEFORE UPDATE ON agent_engine.telegram_messages
      FOR EACH ROW EXECUTE FUNCTION agent_engine.guard_telegram_message();
    ALTER TABLE agent_engine.telegram_messages ENABLE ALWAYS TRIGGER guard_telegram_message;

    -- Every run of a chat's conversation is answered there, whoever queued it: a person, or a wake-up.
    CREATE FUNCTION agent_engine.answer_in_chat() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO agent_engine.telegram_messages (bot, chat_id, run_id)
        SELECT bot, chat_id, NEW.run_id FROM agent_engine.telegram_conversations WHERE conversation_id = NEW.conversation_id;
      RETURN NULL;
    END $$;
    CREATE TRIGGER answer_in_chat AFTER INSERT ON agent_engine.runs
      FOR EACH ROW EXECUTE FUNCTION agent_engine.answer_in_chat();

    GRANT SELECT, INSERT, UPDATE ON agent_engine.telegram_bots TO hp_agent_engine;
    GRANT SELECT, INSERT ON agent_engine.telegram_updates TO hp_agent_engine;
    GRANT SELECT, INSERT, UPDATE (current) ON agent_engine.telegram_conversations TO hp_agent_engine;
    GRANT SELECT, INSERT (bot, chat_id, run_id, notice), UPDATE (state, part, claim, claimed_at, due_at, tries)
      ON agent_engine.telegram_messages TO hp_agent_engine;
  `.execute(db);
}
