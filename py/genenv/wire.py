"""The contract of the hook plane: frames between the training loop and the hook host (Node).

`bridge/wire.ts` is the other half: same names, same order; both read test/fixtures/wire.

A frame is a 20-byte little-endian header and a payload:
  u32 magic "GNVH" | u8 version | u8 op | u8 kind | u8 attempt | u64 id | u32 payload length
Request payloads are one Arrow IPC stream of one batch whose columns are all utf8 (hello: the
token's bytes; describe: empty). Replies are Arrow too, except REPLY_F64 (a raw float64 a row) and
ERROR (JSON).
On one machine the reply to hello names a file of MAPPED_BYTES in shared memory, the connection's
own: a request's payload may lie in it, and its frame (REQUEST_MAPPED) then says where: u32 offset,
u32 length. A client that makes a pipe at that name + PIPE_SUFFIX before its next frame may get
frames of up to PIPE_REPLY_BYTES through it.
Text: what UTF-8 can't hold (a lone surrogate) is sent as U+FFFD, by both sides.
"""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from genenv.errors import HookError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAGIC = 0x48564E47
VERSION = 1
HEADER_BYTES = 20
MAX_PAYLOAD_BYTES = 1 << 28
MAX_HELLO_BYTES = 1 << 12
"""The bound on a connection that has not yet shown its token."""

MAPPED_BYTES = 1 << 24
PIPE_SUFFIX = ".replies"
PIPE_REPLY_BYTES = 1 << 12
"""PIPE_BUF of Linux: so much is written to a pipe as a whole or not at all."""


class Op(IntEnum):
    HELLO = 0
    DESCRIBE = 1
    SCORE = 2
    PROMPTS = 3
    PARSE = 4
    SELECT = 5
    ALPHA = 6
    LABEL = 7


class Kind(IntEnum):
    REQUEST = 0
    REPLY = 1
    REPLY_F64 = 2
    ERROR = 3
    REQUEST_MAPPED = 4


class Column:
    """Column names. PARAMS holds JSON in row 0 and null elsewhere; the others have every row."""

    PARAMS = "params"
    RESPONSE = "response"
    GROUND_TRUTH = "ground_truth"
    """JSON, a value a row."""
    GROUND_TRUTH_TEXT = "ground_truth_text"
    """Instead of GROUND_TRUTH where every ground truth is a string: the strings themselves."""
    TASK_ID = "task_id"
    MESSAGES = "messages"
    DATA_SOURCE = "data_source"
    EXTRA = "extra"
    ANSWER = "answer"
    SEEDS = "seeds"
    TASKS = "tasks"
    SUCCESS_RATES = "success_rates"
    RESPONSES = "responses"


RESULT_COLUMNS = ("kind", "value", "success", "metrics", "code", "reason")
"""Columns of a REPLY to SCORE: a row's kind is its index in RESULT_KINDS."""
RESULT_KINDS = ("score", "abstain", "failed")
FAILURE_CODES = ("timeout", "out-of-memory", "crashed", "threw", "bad-result")
JSON_COLUMNS = ("json", "code", "reason")
"""Columns of a REPLY to every other op: JSON, or the code and reason of a row that failed."""

_END_OF_STREAM_BYTES = 8
_SMALL_BYTES = 1 << 18
_HEADER = struct.Struct("<IBBBBQI")
_RESULT_TYPES = (pa.uint8(), pa.float64(), pa.bool_(), pa.utf8(), pa.utf8(), pa.utf8())
RESULT_SCHEMA = pa.schema(list(zip(RESULT_COLUMNS, _RESULT_TYPES, strict=True)))
JSON_SCHEMA = pa.schema([(name, pa.utf8()) for name in JSON_COLUMNS])


@dataclass(frozen=True, slots=True)
class Header:
    op: Op
    kind: Kind
    attempt: int
    id: int
    length: int


def encode_header(header: Header) -> bytes:
    return _HEADER.pack(
        MAGIC, VERSION, header.op, header.kind, header.attempt, header.id, header.length
    )


def decode_header(data: bytes | bytearray | memoryview, max_payload_bytes: int) -> Header:
    """The header in 20 bytes; raises a HookError "bad-frame" that says what is wrong with it."""
    if len(data) != HEADER_BYTES:
        raise bad_frame(f"has a header of {len(data)} bytes, not {HEADER_BYTES}")
    magic, version, op, kind, attempt, request_id, length = _HEADER.unpack(data)
    if magic != MAGIC:
        raise bad_frame(f"starts with {magic:#x}, not with {MAGIC:#x}")
    if version != VERSION:
        raise bad_frame(f"has version {version}, and this side speaks {VERSION}")
    if op > max(Op):
        raise bad_frame(f"has the unknown op {op}")
    if kind > max(Kind):
        raise bad_frame(f"has the unknown kind {kind}")
    if length > max_payload_bytes:
        raise bad_frame(f"announces {length} bytes, and the limit is {max_payload_bytes}")
    return Header(Op(op), Kind(kind), attempt, request_id, length)


def bad_frame(what: str) -> HookError:
    return HookError(
        f"a frame {what}",
        code="bad-frame",
        hint="both ends must be the same genenv version, and nothing else may use this address",
    )


def encode_batch(columns: Mapping[str, Sequence[str | None]]) -> pa.RecordBatch:
    """A request's batch: utf8 columns of the same length."""
    arrays = [_text_array(values) for values in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, schema=_schema_of(tuple(columns))[0])


def batch_pieces(batch: pa.RecordBatch) -> list[pa.Buffer]:
    """The batch as an Arrow IPC stream, in pieces to send one after another."""
    return [_schema_of(tuple(batch.schema.names))[1], batch.serialize()]


def batch_bytes(batch: pa.RecordBatch) -> int:
    """How much room `write_batch` needs."""
    schema_message = _schema_of(tuple(batch.schema.names))[1]
    return len(schema_message) + pa.ipc.get_record_batch_size(batch) + _END_OF_STREAM_BYTES


def write_batch(batch: pa.RecordBatch, target: memoryview) -> int:
    """Writes the batch as an Arrow IPC stream into the memory; returns its length."""
    if len(target) < _SMALL_BYTES:
        # A copy more, and no stream writer to make.
        at = 0
        for piece in batch_pieces(batch):
            target[at : at + len(piece)] = memoryview(piece).cast("B")
            at += len(piece)
        return at
    sink = pa.FixedSizeBufferWriter(pa.py_buffer(target))
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.tell()


@functools.cache
def _schema_of(names: tuple[str, ...]) -> tuple[pa.Schema, pa.Buffer]:
    schema = pa.schema([(name, pa.utf8()) for name in names])
    return schema, schema.serialize()


def decode_batch(payload: Any, schema: pa.Schema) -> pa.RecordBatch:
    """The one batch of a reply, checked in full: its schema, offsets, lengths and UTF-8."""
    try:
        with pa.ipc.open_stream(payload) as reader:
            if not reader.schema.equals(schema):
                raise bad_frame(f"has the Arrow schema {reader.schema}, not {schema}")
            batch = reader.read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, OSError, StopIteration) as error:
        raise bad_frame(f"holds broken Arrow data ({error})") from error
    return batch


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and each lone surrogate replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _text_array(values: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(values, type=pa.utf8())
    except UnicodeEncodeError:
        cleaned = [None if value is None else well_formed(value) for value in values]
        return pa.array(cleaned, type=pa.utf8())
