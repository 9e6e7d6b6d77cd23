import { configOrExit, startService } from '@holdpoint/runtime';
import { AuditModule } from './audit.module.js';
import { auditConfig } from './config.js';

const config = configOrExit('audit', auditConfig);
await startService({ name: 'audit', module: AuditModule.forRoot(config), config });
