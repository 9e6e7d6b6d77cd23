import { timestamp } from '@holdpoint/contracts';
import { misused } from './failure.js';

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time, or how long ago: `90m`, `12h`, `7d`. @throws Failure (usage) */
export function sinceOf(text: string, now = Date.now()): string {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) return new Date(now - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]).toISOString();
  if (!timestamp.safeParse(text).success)
    throw misused('--since is a time, such as 2026-01-31T09:00:00Z, or how long ago, such as 90m, 12h or 7d.');
  if (Date.parse(text) > now) throw misused(`--since ${text} is in the future: nothing has been decided since.`);
  return text;
}
