import { join } from 'node:path';
import type { PolicyMode } from '@holdpoint/contracts';
import type { ClientFile } from './client-file.js';
import { DEMO_DATABASE, DEMO_LOGINS } from './demo-database.js';
import type { Home } from './home.js';
import { PEOPLE } from './people.js';
import type { Settings } from './settings.js';

interface Announced {
  home: Home;
  settings: Settings;
  client: ClientFile;
  consumerFiles: string[];
  postgresPort: number;
  mode: PolicyMode | undefined;
}

/** What is where, for the person who typed `npm start`. */
export function announcement({ home, settings, client, consumerFiles, postgresPort, mode }: Announced): string {
  const rows: [string, string][] = [
    ...Object.entries(client.urls),
    ['', ''],
    ['home', `${home.path}  (deleting it is a reset)`],
    ['logs', home.logs],
    ['configuration', settings.config],
    ['sent mail', `${home.outbox}  (every mail an agent sends ends here, as a file)`],
    ['inbox', home.maildir],
    ['workspace', home.workspace],
    [
      'database',
      `${demoServer(settings, postgresPort)}/${DEMO_DATABASE}  (for ${DEMO_LOGINS.join(', ')}; passwords in ${home.secrets})`,
    ],
    ['', ''],
    ...PEOPLE.map(({ id, name, spaces }): [string, string] => [
      id,
      `${name}, ${Object.entries(spaces)
        .map(([space, role]) => `${role} of ${space}`)
        .join(', ')}`,
    ]),
    ['their tokens', join(home.path, 'client.json')],
    ['issuer', `${client.issuer}  (for development: services refuse it without HOLDPOINT_DEV=1)`],
    ...consumerFiles.map((file): [string, string] => ['consumer', file]),
  ];
  const width = Math.max(...rows.map(([label]) => label.length)) + 2;
  return [
    '',
    ...rows.map(([label, text]) => (label ? `  ${label.padEnd(width)}${text}` : '')),
    '',
    ...(mode === 'log-only' ? ['  POLICY IS IN LOG-ONLY MODE: nothing is held, every call runs at once.', ''] : []),
    `  In another terminal:  ${settings.homeIsDefault ? '' : `HOLDPOINT_HOME=${quoted(home.path)} `}npm run --silent holdpoint -- --help`,
    '',
  ].join('\n');
}

function demoServer({ databaseUrl }: Settings, postgresPort: number): string {
  return `postgres://${databaseUrl === undefined ? `127.0.0.1:${postgresPort}` : new URL(databaseUrl).host}`;
}

/** As a shell takes it for one word. */
const quoted = (path: string): string => (/^[\w/.,:@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
