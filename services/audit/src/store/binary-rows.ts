/** A column of PostgreSQL's binary COPY. */
export type ColumnType = 'int8' | 'text' | 'bytea' | 'timestamptz' | 'bool';
type Cell = number | string | Uint8Array | Date | boolean | null;

/** Sends rows to a `COPY … FROM STDIN` on the session whose transaction is open. */
export type CopyIn = (statement: string, rows: Uint8Array) => Promise<void>;

export async function copyRows(
  copyIn: CopyIn,
  table: string,
  columns: Record<string, ColumnType>,
  rows: readonly (readonly Cell[])[],
): Promise<void> {
  if (rows.length === 0) return;
  const names = Object.keys(columns);
  const statement = `COPY ${table} (${names.join(', ')}) FROM STDIN (FORMAT binary)`;
  await copyIn(statement, binaryRows(Object.values(columns), rows));
}

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** The server counts microseconds from 2000-01-01. */
const EPOCH_MS = Date.UTC(2000, 0, 1);

/** Rows in the format of `COPY … FROM STDIN (FORMAT binary)`: each a value a column, in the columns' order. */
function binaryRows(types: readonly ColumnType[], rows: readonly (readonly Cell[])[]): Buffer {
  const parts: Uint8Array[] = [SIGNATURE, Buffer.alloc(8)];
  const count = Buffer.alloc(2);
  count.writeInt16BE(types.length);
  for (const row of rows) {
    parts.push(count);
    for (const [i, type] of types.entries()) {
      const bytes = encode(type, row[i] ?? null);
      const length = Buffer.allocUnsafe(4);
      length.writeInt32BE(bytes === null ? -1 : bytes.length);
      parts.push(length);
      if (bytes !== null) parts.push(bytes);
    }
  }
  parts.push(Buffer.from([0xff, 0xff]));
  return Buffer.concat(parts);
}

function encode(type: ColumnType, value: Cell): Uint8Array | null {
  if (value === null) return null;
  switch (type) {
    case 'text':
      return Buffer.from(value as string);
    case 'bytea':
      return value as Uint8Array;
    case 'bool':
      return Buffer.of(value ? 1 : 0);
    case 'int8':
      return int8(BigInt(value as number));
    case 'timestamptz':
      return int8(BigInt((value as Date).getTime() - EPOCH_MS) * 1_000n);
  }
}

function int8(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
