import { sql } from 'kysely';

/** Whole milliseconds, as events carry them: cutting off never moves a moment across a deadline. */
export const wallClock = sql<Date>`date_trunc('milliseconds', clock_timestamp())`;
