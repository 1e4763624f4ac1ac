"""The hook plane's payloads: what goes out as Arrow batches, and what comes back as results."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from genenv import wire
from genenv.errors import HookError
from genenv.hook_types import ScoreResult
from genenv.wire import Column, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

MIN_CHUNK_ROWS = 256
MAX_CHUNK_ROWS = (wire.PIPE_REPLY_BYTES - wire.HEADER_BYTES) // 8
"""Rows a frame, a quarter of the batch within these: one is scored while the next is encoded, and
each one's scores fit into the pipe."""
CHUNK_TEXT = 32 << 20
"""Characters of response a frame, far below the frame's own bound."""
_NO_METRICS: dict[str, float] = {}


def chunks(responses: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Ranges of rows that make a frame each."""
    rows = min(MAX_CHUNK_ROWS, max(MIN_CHUNK_ROWS, -(-len(responses) // 4)))
    for start in range(0, len(responses), rows):
        stop = min(start + rows, len(responses))
        lengths = [len(response) for response in responses[start:stop]]
        if sum(lengths) <= CHUNK_TEXT:
            yield start, stop
        else:
            yield from _long_chunks(start, lengths)


def _long_chunks(start: int, lengths: list[int]) -> Iterator[tuple[int, int]]:
    first, text = start, 0
    for row, length in enumerate(lengths, start):
        if row > first and text + length > CHUNK_TEXT:
            yield first, row
            first, text = row, 0
        text += length
    yield first, start + len(lengths)


def score_payload(columns: Mapping[str, Sequence[Any]], start: int, stop: int) -> pa.RecordBatch:
    part = {name: values[start:stop] for name, values in columns.items()}
    truths = part.pop(Column.GROUND_TRUTH)
    if all(type(truth) is str for truth in truths):
        part[Column.GROUND_TRUTH_TEXT] = truths
    else:
        part[Column.GROUND_TRUTH] = [
            dump(truth, f"ground_truths[{start + row}]") for row, truth in enumerate(truths)
        ]
    for name in (Column.MESSAGES, Column.EXTRA):
        if name in part:
            part[name] = [
                dump(value, f"{name}[{start + row}]") for row, value in enumerate(part[name])
            ]
    return batch_of({"firstRow": start} if start else {}, part)


def batch_of(params: Mapping[str, Any], columns: dict[str, Sequence[str | None]]) -> pa.RecordBatch:
    if params:
        rows = len(next(iter(columns.values())))
        columns = {**columns, Column.PARAMS: [dump(params, "params")] + [None] * (rows - 1)}
    return wire.encode_batch(columns)


def dump(value: Any, what: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise HookError(
            f"{what} can't be sent to the hooks: {error} (in {str(value)[:120]})",
            code="not-json",
            hint="use text, finite numbers, booleans, None, lists and dicts",
        ) from error


def score_results(kind: Kind, body: memoryview, rows: int) -> list[ScoreResult]:
    if kind is Kind.REPLY_F64:
        values = body.cast("d").tolist() if len(body) == 8 * rows else None
        if values is None:
            raise wire.bad_frame(f"has {len(body)} bytes of scores for {rows} rows")
        if not all(map(math.isfinite, values)):
            raise wire.bad_frame("has a score that is no finite number")
        # Results are immutable and most scores are 0 or 1: one object for each value.
        made = {value: ScoreResult("score", value, None, _NO_METRICS) for value in set(values)}
        return [made[value] for value in values]
    batch = wire.decode_batch(body, wire.RESULT_SCHEMA)
    if batch.num_rows != rows:
        raise wire.bad_frame(f"has {batch.num_rows} results for {rows} rows")
    columns = [batch.column(name).to_pylist() for name in wire.RESULT_COLUMNS]
    return [_result(*row) for row in zip(*columns, strict=True)]


def _result(
    kind: int | None,
    value: float | None,
    success: bool | None,
    metrics: str | None,
    code: str | None,
    reason: str | None,
) -> ScoreResult:
    if kind == 0 and value is not None and math.isfinite(value):
        parts = _NO_METRICS if metrics is None else _metrics(metrics)
        return ScoreResult("score", value, success, parts)
    if kind == 1 and reason is not None:
        return ScoreResult("abstain", reason=reason)
    if kind == 2 and code in wire.FAILURE_CODES and reason is not None:
        return ScoreResult("failed", code=code, reason=reason)
    raise wire.bad_frame(f"has a result of kind {kind} with value {value}, {code}, {reason}")


def _metrics(text: str) -> dict[str, float]:
    metrics = load(text)
    if isinstance(metrics, dict) and all(type(value) in (int, float) for value in metrics.values()):
        return {name: float(value) for name, value in metrics.items()}
    raise wire.bad_frame(f"has metrics that are no numbers: {text[:120]}")


def load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise wire.bad_frame(f"holds broken JSON ({error})") from error
