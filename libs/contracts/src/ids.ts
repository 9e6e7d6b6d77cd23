import { z } from 'zod';

/** One token of a subject: a space, a call, a run, a task. The alphabet keeps subjects free of wildcards and case. */
export const token = z.string().regex(/^[a-z0-9_-]{1,64}$/);

/** Name of a tool or an agent as declared; never split, never joined to make a decision. */
export const name = z.string().min(1).max(128);

/** Lower-case hex SHA-256. */
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);

export const timestamp = z.iso.datetime();
