"""Writes test/fixtures/wire: frames that both languages' tests read. Run it when they change.

usage: PYTHONPATH=py python scripts/wire-fixtures.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from genenv import wire
from genenv.wire import Header, Kind, Op

FOLDER = Path(__file__).parents[1] / "test" / "fixtures" / "wire"

SCORE_COLUMNS: dict[str, list[str | None]] = {
    "response": ["", "plain", "nul \0 inside", "emoji 😀 é", "שלום עולם", "x" * 3000],
    "task_id": [f"t-{row}" for row in range(6)],
    "ground_truth": ['"7"', "7", "null", '{"a":[1,2.5]}', "true", '"é"'],
    "params": ['{"firstRow":1024}', None, None, None, None, None],
}
RESULT_ROWS: list[dict[str, object]] = [
    {"kind": 0, "value": 0.5, "success": None, "metrics": None, "code": None, "reason": None},
    {
        "kind": 0,
        "value": -2.0,
        "success": True,
        "metrics": '{"a":1.5}',
        "code": None,
        "reason": None,
    },
    {"kind": 1, "value": None, "success": None, "metrics": None, "code": None, "reason": "ש 😀"},
    {"kind": 2, "value": None, "success": None, "metrics": None, "code": "threw", "reason": ""},
]
JSON_ROWS = [
    {"json": "[1,null]", "code": None, "reason": None},
    {"json": None, "code": "timeout", "reason": "too slow"},
]


def frame(op: Op, kind: Kind, payload: bytes, *, attempt: int = 0, number: int = 7) -> bytes:
    return wire.encode_header(Header(op, kind, attempt, number, len(payload))) + payload


def reply(rows: list[dict[str, object]], schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
    return sink.getvalue().to_pybytes()


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    score = b"".join(wire.batch_pieces(wire.encode_batch(SCORE_COLUMNS)))
    f64 = pa.array([0.0, 1.0, -0.25]).buffers()[1].to_pybytes()[:24]
    good = {
        "hello": frame(Op.HELLO, Kind.REQUEST, b"secret"),
        "describe": frame(Op.DESCRIBE, Kind.REQUEST, b"", number=2**64 - 1),
        "score": frame(Op.SCORE, Kind.REQUEST, score, attempt=3),
        "score-reply": frame(Op.SCORE, Kind.REPLY, reply(RESULT_ROWS, wire.RESULT_SCHEMA)),
        "score-reply-f64": frame(Op.SCORE, Kind.REPLY_F64, f64),
        "json-reply": frame(Op.PARSE, Kind.REPLY, reply(JSON_ROWS, wire.JSON_SCHEMA)),
        "error": frame(
            Op.SCORE, Kind.ERROR, b'{"code":"hook-absent","message":"no hook","hint":null}'
        ),
    }
    bad = {
        "bad-magic": (b"HTTP" + good["score"][4:], "starts with"),
        "bad-version": (good["score"][:4] + b"\x09" + good["score"][5:], "has version 9"),
        "bad-op": (good["score"][:5] + b"\x63" + good["score"][6:], "unknown op 99"),
        "bad-kind": (good["score"][:6] + b"\x09" + good["score"][7:], "unknown kind 9"),
        "oversized": (good["score"][:16] + b"\xff\xff\xff\xff", "announces 4294967295 bytes"),
    }
    manifest = {
        "good": {
            name: {"op": data[5], "kind": data[6], "attempt": data[7], "bytes": len(data) - 20}
            for name, data in good.items()
        },
        "bad": {name: message for name, (_, message) in bad.items()},
        "scoreColumns": SCORE_COLUMNS,
        "resultRows": RESULT_ROWS,
        "jsonRows": JSON_ROWS,
        "f64": [0.0, 1.0, -0.25],
    }
    for name, data in {**good, **{name: data for name, (data, _) in bad.items()}}.items():
        (FOLDER / f"{name}.bin").write_bytes(data)
    text = json.dumps(manifest, ensure_ascii=True, indent=1)
    (FOLDER / "manifest.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
