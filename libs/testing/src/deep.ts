/** `npm run test:deep`: the full counts of the guarantees, and what takes too long for each time. */
export const DEEP = Boolean(process.env['HOLDPOINT_DEEP']);

/** How many to play: a sample in `npm test`, all of them in `npm run test:deep`. Say in the test's name which it was. */
export const sampled = (sample: number, all: number): number => (DEEP ? all : sample);
