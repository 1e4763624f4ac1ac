import { isAscii } from "node:buffer";
import { badFrame } from "./wire.js";

/**
 * A strict reader of the one Arrow shape that requests have: an IPC stream of a schema and one record batch, all of
 * whose columns are utf8. It bounds-checks everything, since the bytes come from a socket, and costs microseconds
 * where a general reader costs a millisecond. Format: arrow.apache.org/docs/format/Columnar.html, "IPC".
 */
export type TextColumn = {
  /** Value i, or null. */
  get(row: number): string | null;
};
export type TextBatch = { rows: number; columns: Map<string, TextColumn> };

const SCHEMA = 1;
const RECORD_BATCH = 3;
const UTF8 = 5;
const METADATA_V5 = 4;

/** Throws a HookError "bad-frame" for bytes that are anything else. */
export function readTextBatch(payload: Uint8Array): TextBatch {
  return checked(() => {
    const schema = readMessage(payload, 0, SCHEMA);
    const names = readSchema(schema.header);
    const message = readMessage(payload, schema.end, RECORD_BATCH);
    return readRecordBatch(payload, names, message);
  });
}

/** How many rows a batch says it has, and has room for; nothing else of it is checked. */
export function readRowCount(payload: Uint8Array): number {
  return checked(() => {
    const schema = readMessage(payload, 0, SCHEMA);
    const rows = rowsOf(readMessage(payload, schema.end, RECORD_BATCH));
    if (4 * rows > payload.length) throw badFrame(`has ${rows} rows in ${payload.length} bytes`);
    return rows;
  });
}

function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    // DataView's own bounds check is ours: a table that points outside the payload.
    if (error instanceof RangeError) throw badFrame(`holds broken Arrow data (${error.message})`);
    throw error;
  }
}

function rowsOf(message: IpcMessage): number {
  const rows = message.header.int64(0);
  if (rows < 0 || rows > 1 << 24) throw badFrame(`has ${rows} rows`);
  return rows;
}

type IpcMessage = { header: FlatTable; bodyStart: number; bodyLength: number; end: number };

function readMessage(payload: Uint8Array, at: number, type: number): IpcMessage {
  const view = viewOf(payload, at);
  if (view.getUint32(0, true) !== 0xffffffff) throw badFrame("holds no Arrow message");
  const metadataLength = view.getInt32(4, true);
  const bodyStart = at + 8 + metadataLength;
  if (metadataLength <= 0 || bodyStart > payload.byteLength) {
    throw badFrame(`holds an Arrow message of ${metadataLength} bytes of metadata`);
  }
  const message = rootTable(viewOf(payload, at + 8, metadataLength));
  const version = message.int16(0);
  const headerType = message.uint8(1);
  if (version !== METADATA_V5) throw badFrame(`holds Arrow metadata version ${version}`);
  if (headerType !== type) throw badFrame(`holds Arrow message type ${headerType}, not ${type}`);
  const bodyLength = message.int64(3);
  if (bodyLength < 0 || bodyStart + bodyLength > payload.byteLength) {
    throw badFrame(`holds an Arrow body of ${bodyLength} bytes that isn't all there`);
  }
  return { header: message.table(2), bodyStart, bodyLength, end: bodyStart + bodyLength };
}

function viewOf(payload: Uint8Array, at: number, length = payload.length - at): DataView {
  // Its own bound: the shared buffer behind a payload may be longer than the payload.
  if (length < 0) throw badFrame("holds no Arrow message");
  return new DataView(payload.buffer, payload.byteOffset + at, length);
}

function readSchema(schema: FlatTable): string[] {
  if (schema.int16(0) !== 0) throw badFrame("holds big-endian Arrow data");
  return schema.tables(1).map((field) => {
    const name = field.string(0);
    const type = field.uint8(2);
    if (type !== UTF8) throw badFrame(`has column "${name}" of Arrow type ${type}, not utf8`);
    if (field.has(4) || field.vector(5).length > 0) {
      throw badFrame(`has a dictionary or children in column "${name}"`);
    }
    return name;
  });
}

function readRecordBatch(payload: Uint8Array, names: string[], message: IpcMessage): TextBatch {
  const rows = rowsOf(message);
  const nodes = message.header.vector(1);
  const buffers = message.header.vector(2);
  if (nodes.length !== names.length || buffers.length !== 3 * names.length) {
    throw badFrame(
      `has ${nodes.length} nodes and ${buffers.length} buffers for ${names.length} columns`,
    );
  }
  if (message.header.has(3)) throw badFrame("holds compressed Arrow data");
  const region = (index: number): { start: number; length: number } => {
    const start = buffers.int64(index * 16);
    const length = buffers.int64(index * 16 + 8);
    if (start < 0 || length < 0 || start % 8 !== 0 || start + length > message.bodyLength) {
      throw badFrame(`has an Arrow buffer [${start}, +${length}) outside its body`);
    }
    return { start: message.bodyStart + start, length };
  };
  const columns = new Map<string, TextColumn>();
  names.forEach((name, index) => {
    if (columns.has(name)) throw badFrame(`has two columns "${name}"`);
    if (nodes.int64(index * 16) !== rows) {
      throw badFrame(
        `has column "${name}" of ${nodes.int64(index * 16)} rows in a batch of ${rows}`,
      );
    }
    const nulls = nodes.int64(index * 16 + 8);
    const validity = nulls === 0 ? null : region(index * 3);
    if (validity !== null && validity.length * 8 < rows)
      throw badFrame(`misses nulls of "${name}"`);
    const bits = validity && payload.subarray(validity.start, validity.start + validity.length);
    columns.set(
      name,
      textColumn(payload, rows, bits, region(index * 3 + 1), region(index * 3 + 2), name),
    );
  });
  return { rows, columns };
}

type Region = { start: number; length: number };

function textColumn(
  payload: Uint8Array,
  rows: number,
  validity: Uint8Array | null,
  offsetsAt: Region,
  dataAt: Region,
  name: string,
): TextColumn {
  if (rows === 0) return { get: () => null };
  if (offsetsAt.length < 4 * (rows + 1) || (payload.byteOffset + offsetsAt.start) % 4 !== 0) {
    throw badFrame(`has too few offsets in column "${name}"`);
  }
  const offsets = new Int32Array(payload.buffer, payload.byteOffset + offsetsAt.start, rows + 1);
  let before = 0;
  for (let row = 0; row <= rows; row++) {
    const offset = offsets[row] as number;
    if (offset < before) throw badFrame(`has falling offsets in column "${name}"`);
    before = offset;
  }
  if (before > dataAt.length) throw badFrame(`has offsets past the data of column "${name}"`);
  const bytes = Buffer.from(payload.buffer, payload.byteOffset + dataAt.start, before);
  const text = shortText(bytes, rows);
  return {
    get(row) {
      if (validity !== null && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0)
        return null;
      if (text !== null) return text.substring(offsets[row] as number, offsets[row + 1] as number);
      return bytes.toString("utf8", offsets[row], offsets[row + 1]);
    },
  };
}

/** Bytes a value up to which it is cheaper to decode a column as one and to cut it. */
const SHORT_BYTES = 64;

/** All of a column of short values where bytes and characters are the same; else null. */
function shortText(bytes: Buffer, rows: number): string | null {
  if (bytes.length > SHORT_BYTES * rows || !isAscii(bytes)) return null;
  return bytes.toString("latin1");
}

/** A flatbuffers table: fields by number, absent ones give the default. */
type FlatTable = {
  has(field: number): boolean;
  uint8(field: number): number;
  int16(field: number): number;
  int64(field: number): number;
  string(field: number): string;
  table(field: number): FlatTable;
  tables(field: number): FlatTable[];
  vector(field: number): FlatVector;
};
/** A vector of structs, read by byte offset. */
type FlatVector = { length: number; int64(byte: number): number };

function rootTable(view: DataView): FlatTable {
  return flatTable(view, view.getUint32(0, true));
}

function flatTable(view: DataView, at: number): FlatTable {
  const vtable = at - view.getInt32(at, true);
  const vtableBytes = view.getUint16(vtable, true);
  /** Where a field lies, or 0 when it is absent. */
  const place = (field: number): number => {
    const slot = 4 + 2 * field;
    if (slot + 2 > vtableBytes) return 0;
    const offset = view.getUint16(vtable + slot, true);
    return offset === 0 ? 0 : at + offset;
  };
  const target = (position: number): number => position + view.getUint32(position, true);
  const table = (field: number): FlatTable => {
    const position = place(field);
    if (position === 0) throw badFrame(`misses field ${field} of an Arrow table`);
    return flatTable(view, target(position));
  };
  const vectorAt = (field: number): { start: number; length: number } => {
    const position = place(field);
    if (position === 0) return { start: 0, length: 0 };
    const start = target(position);
    const length = view.getUint32(start, true);
    if (length > view.byteLength) throw badFrame(`has an Arrow vector of ${length} entries`);
    return { start: start + 4, length };
  };
  return {
    has: (field) => place(field) !== 0,
    uint8: (field) => (place(field) === 0 ? 0 : view.getUint8(place(field))),
    int16: (field) => (place(field) === 0 ? 0 : view.getInt16(place(field), true)),
    int64: (field) => (place(field) === 0 ? 0 : int64(view, place(field))),
    string(field) {
      const { start, length } = vectorAt(field);
      if (start + length > view.byteLength)
        throw badFrame("has an Arrow name that isn't all there");
      return Buffer.from(view.buffer, view.byteOffset + start, length).toString("utf8");
    },
    table,
    tables(field) {
      const { start, length } = vectorAt(field);
      return Array.from({ length }, (_, i) => flatTable(view, target(start + 4 * i)));
    },
    vector(field) {
      const { start, length } = vectorAt(field);
      return { length, int64: (byte) => int64(view, start + byte) };
    },
  };
}

/** Exact up to 2^53; larger values stay larger than any bound they are checked against. */
function int64(view: DataView, at: number): number {
  return view.getInt32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
}
