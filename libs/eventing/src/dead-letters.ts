// biome-ignore lint/suspicious/noExplicitAny: any service's schema
import type { Kysely } from 'kysely';

export interface DeadLetter {
  id: number;
  consumer: string;
  streamSeq: number;
  subject: string;
  attempts: number;
  lastError: string;
  state: 'failing' | 'dead' | 'replayed' | 'recovered';
}

export const deadLetters = {
  // biome-ignore lint/suspicious/noExplicitAny: any service's schema
  list(_db: Kysely<any>): Promise<DeadLetter[]> {
    throw new Error('being written');
  },
};
