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
  let size = SIGNATURE.length + 8 + 2;
  for (const row of rows) {
    size += 2 + 4 * types.length;
    for (const [i, type] of types.entries()) size += sizeOf(type, row[i] ?? null);
  }
  const out = Buffer.alloc(size);
  let at = SIGNATURE.copy(out) + 8;
  for (const row of rows) {
    at = out.writeInt16BE(types.length, at);
    for (const [i, type] of types.entries()) {
      const value = row[i] ?? null;
      const end = at + 4 + sizeOf(type, value);
      out.writeInt32BE(value === null ? -1 : end - at - 4, at);
      if (value !== null) write(out, at + 4, type, value);
      at = end;
    }
  }
  out.writeInt16BE(-1, at);
  return out;
}

function sizeOf(type: ColumnType, value: Cell): number {
  if (value === null) return 0;
  if (type === 'text') return Buffer.byteLength(value as string);
  if (type === 'bytea') return (value as Uint8Array).length;
  return type === 'bool' ? 1 : 8;
}

function write(out: Buffer, at: number, type: ColumnType, value: Exclude<Cell, null>): void {
  switch (type) {
    case 'text':
      out.write(value as string, at);
      return;
    case 'bytea':
      out.set(value as Uint8Array, at);
      return;
    case 'bool':
      out.writeUInt8(value ? 1 : 0, at);
      return;
    case 'int8':
      out.writeBigInt64BE(BigInt(value as number), at);
      return;
    case 'timestamptz':
      out.writeBigInt64BE(BigInt((value as Date).getTime() - EPOCH_MS) * 1_000n, at);
  }
}
