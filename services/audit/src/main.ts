import { loadConfig, startService } from '@holdpoint/runtime';
import { AuditModule } from './audit.module.js';
import { auditConfig } from './config.js';

const config = loadConfig(auditConfig);
await startService({ name: 'audit', module: AuditModule.forRoot(config), config });
