import { subscribe } from 'node:diagnostics_channel';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

// Loaded into a service with `node --import`: kills or freezes it without warning at the step that the control file names,
// once. The file holds `<program> <step> <signal> <text that the call or subject contains>`.
const control = process.env['HOLDPOINT_CRASH_FILE'];
if (control !== undefined)
  subscribe('holdpoint.step', (message) => {
    const { step, what } = message as { step: string; what: string };
    try {
      const [program = '', at, signal = 'SIGKILL', part = ''] = readFileSync(control, 'utf8').trim().split(' ');
      if (at !== step || !what.includes(part) || !process.argv[1]?.includes(program)) return;
      // of several instances one takes the order; the others find it gone
      renameSync(control, `${control}.taken`);
      writeFileSync(`${control}.pid`, String(process.pid));
      process.kill(process.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  });
