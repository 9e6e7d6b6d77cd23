import { subscribe } from 'node:diagnostics_channel';
import { readFileSync, rmSync } from 'node:fs';

// Loaded into a service with `node --import`: kills it without warning at the step that the control file names, once.
// The file holds `<program> <step> <text that the call or subject contains>`.
const control = process.env['HOLDPOINT_CRASH_FILE'];
if (control !== undefined)
  subscribe('holdpoint.step', (message) => {
    const { step, what } = message as { step: string; what: string };
    let order: string;
    try {
      order = readFileSync(control, 'utf8');
    } catch {
      return;
    }
    const [program = '', at, part = ''] = order.trim().split(' ');
    if (at !== step || !what.includes(part) || !process.argv[1]?.includes(program)) return;
    rmSync(control);
    process.kill(process.pid, 'SIGKILL');
  });
