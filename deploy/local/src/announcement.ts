import { join } from 'node:path';
import type { PolicyMode } from '@holdpoint/contracts';
import type { ClientFile } from './client-file.js';
import { DEMO_DATABASE, DEMO_LOGINS } from './demo-database.js';
import type { Home } from './home.js';
import { PEOPLE } from './people.js';
import type { Ports } from './ports.js';
import type { Settings } from './settings.js';

interface Announced {
  home: Home;
  settings: Settings;
  client: ClientFile;
  ports: Ports;
  mode: PolicyMode | undefined;
}

/** What is where, for the person who typed `npm start`. */
export function announcement({ home, settings, client, ports, mode }: Announced): string {
  const rows: [string, string][] = [
    ...Object.entries(client.urls),
    ...(settings.traces ? [['traces', `http://127.0.0.1:${ports.traces}`] as [string, string]] : []),
    ['', ''],
    ['home', `${home.path}  (deleting it is a reset)`],
    ['logs', home.logs],
    ['configuration', settings.config],
    ['sent mail', `${home.outbox}  (every mail an agent sends ends here, as a file)`],
    ['inbox', home.maildir],
    ['workspace', home.workspace],
    [
      'database',
      `postgres://127.0.0.1:${ports.postgres}/${DEMO_DATABASE}  (for ${DEMO_LOGINS.join(', ')}; passwords in ${home.secrets})`,
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

/** As a shell takes it for one word. */
const quoted = (path: string): string => (/^[\w/.,:@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
