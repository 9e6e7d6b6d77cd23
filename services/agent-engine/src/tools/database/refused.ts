import pg from 'pg';

/** A refusal whose message is for the model. Thrown only while nothing has been committed. */
export class Refused extends Error {}

/** SQLSTATE classes (and 08P01: parameters are missing) whose messages are about the statement and its values alone. */
const ABOUT_THE_STATEMENT = /^(08P01|0A|21|22|23|25|2F|42|44|54|P0)/;

const sentences: Record<string, string> = {
  '57014': 'It took longer than is allowed. Ask for less at once.',
  '55P03': 'Somebody else has what it needs locked. Try again later.',
  '40P01': 'Somebody else changed the same rows meanwhile. Try again.',
  '40001': 'Somebody else changed the same rows meanwhile. Try again.',
};

/** What the model is told of an error before the effect; it names no address, login or path of the machine. */
export function refusal(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (error instanceof pg.DatabaseError && error.code) {
    const sentence = sentences[error.code];
    if (sentence) return sentence;
    if (ABOUT_THE_STATEMENT.test(error.code)) {
      const hint = error.hint ? ` (${error.hint})` : '';
      return `The database refused it: ${error.message}${hint}`;
    }
  }
  return 'The database could not be used. Nothing was changed. Try again later.';
}
