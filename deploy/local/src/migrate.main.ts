import {
  DATABASE_NAME,
  type DatabasePasswords,
  databaseUrl,
  migrate,
  OWNER_ROLE,
  provisionDatabase,
} from '@holdpoint/provision';
import { z } from 'zod';
import { childSettings } from './child-environment.js';
import { seedDemoDatabase } from './demo-database.js';
import { REPOSITORY } from './repository.js';

process.on('disconnect', () => process.exit(1));
const settings = childSettings(
  z.object({
    superuserUrl: z.string(),
    /** The operator's own, when it is not the embedded server's. */
    database: z.string().optional(),
    passwords: z.record(z.string(), z.string()),
    demo: z.object({ demo_writer: z.string(), demo_reader: z.string() }).optional(),
  }),
);
const passwords = settings.passwords as DatabasePasswords;
const { superuserUrl, database } = settings;
await provisionDatabase({ superuserUrl, passwords, ...(database ? { database } : {}) });
const ownerUrl = databaseUrl(superuserUrl, database ?? DATABASE_NAME, { role: OWNER_ROLE, password: passwords.owner });
for (const applied of await migrate({ ownerUrl, root: REPOSITORY })) console.log(`applied ${applied}`);
if (settings.demo) await seedDemoDatabase(superuserUrl, settings.demo);
process.exit(0);
