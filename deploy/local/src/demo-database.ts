import { databaseUrl, ensureRole, withClient } from '@holdpoint/provision';

export const DEMO_DATABASE = 'demo';

/** What the agents' Database tool logs in as: one that writes, and one that can only read. Neither gets into Holdpoint's. */
export const DEMO_LOGINS = ['demo_writer', 'demo_reader'] as const;
export type DemoLogin = (typeof DEMO_LOGINS)[number];

/** The ledger is what README of agent-engine asks an operator for. */
const CONTENT = `
CREATE TABLE customers (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name    text NOT NULL UNIQUE,
  contact text NOT NULL,
  email   text NOT NULL UNIQUE
);
CREATE TABLE orders (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer   bigint NOT NULL REFERENCES customers,
  article    text NOT NULL,
  quantity   int NOT NULL CHECK (quantity > 0),
  unit_price numeric(12, 2) NOT NULL,
  ordered_on date NOT NULL
);
CREATE TABLE invoices (
  number            text PRIMARY KEY,
  order_id          bigint NOT NULL REFERENCES orders,
  amount            numeric(12, 2) NOT NULL,
  payment_reference bigint NOT NULL UNIQUE,
  issued_on         date NOT NULL,
  paid              boolean NOT NULL DEFAULT false
);
INSERT INTO customers (name, contact, email) VALUES
  ('Northwind GmbH', 'Clara Winter', 'clara.winter@northwind.example'),
  ('Southgate Ltd', 'Ed Marsh', 'ed.marsh@southgate.example');
INSERT INTO orders (customer, article, quantity, unit_price, ordered_on) VALUES
  (1, 'widget', 12, 115.00, '2024-02-19'),
  (2, 'bracket', 40, 12.90, '2024-02-26');
INSERT INTO invoices (number, order_id, amount, payment_reference, issued_on, paid) VALUES
  ('2024-117', 1, 1480.00, 9007199254740993, '2024-02-28', false),
  ('2024-118', 2, 516.00, 9007199254740994, '2024-03-01', true);

CREATE SCHEMA holdpoint;
CREATE TABLE holdpoint.ledger (
  call_id     text PRIMARY KEY,
  result      text NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT USAGE ON SCHEMA holdpoint TO demo_writer;
GRANT SELECT, INSERT, UPDATE (result) ON holdpoint.ledger TO demo_writer;

GRANT SELECT, INSERT, UPDATE ON customers, orders, invoices TO demo_writer;
GRANT SELECT ON customers, orders, invoices TO demo_reader;
`;

/** A second database with something for an agent to look up and change: filled once, and left alone from then on. */
export async function seedDemoDatabase(superuserUrl: string, passwords: Record<DemoLogin, string>): Promise<void> {
  const logins = DEMO_LOGINS.join(', ');
  await withClient(superuserUrl, async (client) => {
    for (const login of DEMO_LOGINS) await ensureRole(client, login, passwords[login]);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DEMO_DATABASE]);
    if (!rowCount) await client.query(`CREATE DATABASE ${DEMO_DATABASE}`).catch(refusedToCreate);
    await client.query(`REVOKE ALL ON DATABASE ${DEMO_DATABASE} FROM PUBLIC`);
    await client.query(`GRANT CONNECT ON DATABASE ${DEMO_DATABASE} TO ${logins}`);
  });
  await withClient(databaseUrl(superuserUrl, DEMO_DATABASE), async (client) => {
    const { rows } = await client.query<{ filled: boolean }>(
      "SELECT to_regnamespace('holdpoint') IS NOT NULL AS filled",
    );
    if (!rows[0]?.filled) await client.query(`BEGIN; ${CONTENT} COMMIT`);
  });
}

function refusedToCreate(cause: Error & { code?: string }): never {
  if (cause.code !== '42501') throw cause;
  const remedy = 'ALTER ROLE … CREATEDB for the login of DATABASE_URL, or give the tools one in DATABASE_TOOL_URL';
  throw new Error(`the database of the demonstration, ${DEMO_DATABASE}, cannot be made: ${remedy}`, { cause });
}

/** The database as a login sees it. */
export const demoDatabaseUrl = (server: string, login: DemoLogin, password: string): string =>
  databaseUrl(server, DEMO_DATABASE, { role: login, password });
