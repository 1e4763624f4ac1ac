/**
 * The contract of the hook plane: frames between the training loop (Python) and the hook host (Node).
 *
 * `py/genenv/wire.py` is the other half: same names, same order; both read test/fixtures/wire.
 *
 * A frame is a 20-byte little-endian header and a payload:
 *   u32 magic "GNVH" | u8 version | u8 op | u8 kind | u8 attempt | u64 id | u32 payload length
 * Request payloads are one Arrow IPC stream of one batch whose columns are all utf8 (hello: the token's bytes;
 * describe: empty). Replies are Arrow too, except REPLY_F64 (a raw float64 a row) and ERROR (JSON).
 * On one machine the reply to hello names a file of MAPPED_BYTES in shared memory, the connection's own: a request's
 * payload may lie in it, and its frame (REQUEST_MAPPED) then says where: u32 offset, u32 length. A client that makes a
 * pipe at that name + PIPE_SUFFIX before its next frame may get frames of up to PIPE_REPLY_BYTES through it.
 * Text: what UTF-8 can't hold (a lone surrogate) is sent as U+FFFD, by both sides.
 */
import { HookError } from "./errors.js";

export const MAGIC = 0x48564e47;
export const VERSION = 1;
export const HEADER_BYTES = 20;
export const MAX_PAYLOAD_BYTES = 1 << 28;
/** The bound on a connection that has not yet shown its token. */
export const MAX_HELLO_BYTES = 1 << 12;
export const MAPPED_BYTES = 1 << 24;
export const PIPE_SUFFIX = ".replies";
/** PIPE_BUF of Linux: so much is written to a pipe as a whole or not at all. */
export const PIPE_REPLY_BYTES = 1 << 12;

export const Op = {
  HELLO: 0,
  DESCRIBE: 1,
  SCORE: 2,
  PROMPTS: 3,
  PARSE: 4,
  SELECT: 5,
  ALPHA: 6,
  LABEL: 7,
} as const;
export type Op = (typeof Op)[keyof typeof Op];
const LAST_OP: number = Op.LABEL;

export const Kind = { REQUEST: 0, REPLY: 1, REPLY_F64: 2, ERROR: 3, REQUEST_MAPPED: 4 } as const;
export type Kind = (typeof Kind)[keyof typeof Kind];
const LAST_KIND: number = Kind.REQUEST_MAPPED;

/** Column names. PARAMS holds JSON in row 0 and null elsewhere; the others have a value in every row. */
export const Column = {
  PARAMS: "params",
  RESPONSE: "response",
  /** JSON, a value a row. */
  GROUND_TRUTH: "ground_truth",
  /** Instead of GROUND_TRUTH where every ground truth is a string: the strings themselves. */
  GROUND_TRUTH_TEXT: "ground_truth_text",
  TASK_ID: "task_id",
  MESSAGES: "messages",
  DATA_SOURCE: "data_source",
  EXTRA: "extra",
  ANSWER: "answer",
  SEEDS: "seeds",
  TASKS: "tasks",
  SUCCESS_RATES: "success_rates",
  RESPONSES: "responses",
} as const;

/** Columns of a REPLY to SCORE: a row's kind is its index in RESULT_KINDS. */
export const RESULT_COLUMNS = ["kind", "value", "success", "metrics", "code", "reason"] as const;
export const RESULT_KINDS = ["score", "abstain", "failed"] as const;
export const FAILURE_CODES = [
  "timeout",
  "out-of-memory",
  "crashed",
  "threw",
  "bad-result",
] as const;
/** Columns of a REPLY to every other op: JSON, or the code and reason of a row that failed. */
export const JSON_COLUMNS = ["json", "code", "reason"] as const;

export type Header = { op: Op; kind: Kind; attempt: number; id: bigint; length: number };

export function encodeHeader(header: Header): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES);
  bytes.writeUInt32LE(MAGIC, 0);
  bytes[4] = VERSION;
  bytes[5] = header.op;
  bytes[6] = header.kind;
  bytes[7] = header.attempt;
  bytes.writeBigUInt64LE(header.id, 8);
  bytes.writeUInt32LE(header.length, 16);
  return bytes;
}

/** The header in the first 20 bytes; throws a HookError "bad-frame" that says what is wrong with it. */
export function decodeHeader(bytes: Buffer, maxPayloadBytes: number): Header {
  const magic = bytes.readUInt32LE(0);
  if (magic !== MAGIC) {
    throw badFrame(`starts with 0x${magic.toString(16)}, not with 0x${MAGIC.toString(16)}`);
  }
  const version = bytes.readUInt8(4);
  const op = bytes.readUInt8(5);
  const kind = bytes.readUInt8(6);
  if (version !== VERSION)
    throw badFrame(`has version ${version}, and this side speaks ${VERSION}`);
  if (op > LAST_OP) throw badFrame(`has the unknown op ${op}`);
  if (kind > LAST_KIND) throw badFrame(`has the unknown kind ${kind}`);
  const length = bytes.readUInt32LE(16);
  if (length > maxPayloadBytes) {
    throw badFrame(`announces ${length} bytes, and the limit is ${maxPayloadBytes}`);
  }
  const id = bytes.readBigUInt64LE(8);
  return { op: op as Op, kind: kind as Kind, attempt: bytes.readUInt8(7), id, length };
}

export function badFrame(what: string): HookError {
  return new HookError(`a frame ${what}`, {
    code: "bad-frame",
    hint: "both ends must be the same genenv version, and nothing else may use this address",
  });
}
