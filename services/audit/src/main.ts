import { loadConfig, orExit, startService } from '@holdpoint/runtime';
import { AuditModule } from './audit.module.js';
import { auditConfig } from './config.js';

const config = orExit('audit', () => loadConfig(auditConfig));
await startService({ name: 'audit', module: AuditModule.forRoot(config), config });
