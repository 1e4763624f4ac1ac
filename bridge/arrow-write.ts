import {
  Bool,
  type Data,
  type DataType,
  Field,
  Float64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Uint8,
  Utf8,
} from "apache-arrow";

/** A column of a reply: its name and its values, a null where there is none. */
export type ReplyColumn =
  | { name: string; type: "utf8"; values: (string | null)[] }
  | { name: string; type: "float64"; values: (number | null)[] }
  | { name: string; type: "uint8"; values: (number | null)[] }
  | { name: string; type: "bool"; values: (boolean | null)[] };

/** One record batch as an Arrow IPC stream. Lone surrogates become U+FFFD (Node's UTF-8 encoder does that). */
export function writeBatch(columns: ReplyColumn[]): Uint8Array {
  const rows = columns[0]?.values.length ?? 0;
  const children = columns.map(toData);
  const fields = columns.map((c, i) => new Field(c.name, (children[i] as Data).type, true));
  const schema = new Schema(fields);
  const data = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children });
  const writer = new RecordBatchStreamWriter();
  writer.write(new RecordBatch(schema, data));
  writer.finish();
  return writer.toUint8Array(true);
}

function toData(column: ReplyColumn): Data<DataType> {
  const { values } = column;
  const length = values.length;
  const { nullCount, nullBitmap } = validityOf(values);
  const base = { length, nullCount, nullBitmap };
  switch (column.type) {
    case "utf8":
      return makeData({ type: new Utf8(), ...base, ...textBuffers(column.values) });
    case "float64":
      return makeData({
        type: new Float64(),
        ...base,
        data: Float64Array.from(column.values, (value) => value ?? 0),
      });
    case "uint8":
      return makeData({
        type: new Uint8(),
        ...base,
        data: Uint8Array.from(column.values, (value) => value ?? 0),
      });
    case "bool":
      return makeData({
        type: new Bool(),
        ...base,
        data: bitmap(column.values, (v) => v === true),
      });
  }
}

function validityOf(values: unknown[]): { nullCount: number; nullBitmap: Uint8Array | null } {
  const nullCount = values.reduce((count: number, value) => count + (value === null ? 1 : 0), 0);
  return { nullCount, nullBitmap: nullCount === 0 ? null : bitmap(values, (v) => v !== null) };
}

function bitmap<T>(values: T[], isSet: (value: T) => boolean): Uint8Array {
  // Arrow pads bitmaps to 8 bytes.
  const bits = new Uint8Array(Math.ceil(values.length / 64) * 8);
  values.forEach((value, i) => {
    if (isSet(value)) bits[i >> 3] = (bits[i >> 3] as number) | (1 << (i & 7));
  });
  return bits;
}

function textBuffers(values: (string | null)[]): { valueOffsets: Int32Array; data: Uint8Array } {
  const valueOffsets = new Int32Array(values.length + 1);
  const parts: Buffer[] = [];
  let at = 0;
  values.forEach((value, i) => {
    if (value !== null) {
      const bytes = Buffer.from(value, "utf8");
      parts.push(bytes);
      at += bytes.length;
    }
    valueOffsets[i + 1] = at;
  });
  return { valueOffsets, data: Buffer.concat(parts) };
}
