from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from genenv import hook_batches, hook_channel, wire
from genenv.errors import HookError
from genenv.wire import HEADER_BYTES, MAX_PAYLOAD_BYTES, Header, Kind, Op
from hypothesis import given
from hypothesis import strategies as st

FOLDER = Path(__file__).parents[1] / "fixtures" / "wire"
MANIFEST: dict[str, Any] = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))


def load(name: str) -> tuple[bytes, bytes]:
    data = (FOLDER / f"{name}.bin").read_bytes()
    return data[:HEADER_BYTES], data[HEADER_BYTES:]


def sent(columns: dict[str, Any]) -> bytes:
    return b"".join(wire.batch_pieces(wire.encode_batch(columns)))


@pytest.mark.parametrize("name", MANIFEST["good"])
def test_reads_the_header_of_each_good_frame(name: str) -> None:
    expected = MANIFEST["good"][name]
    head, payload = load(name)
    header = wire.decode_header(head, MAX_PAYLOAD_BYTES)
    assert (header.op, header.kind, header.attempt) == (
        expected["op"],
        expected["kind"],
        expected["attempt"],
    )
    assert header.length == expected["bytes"] == len(payload)
    assert wire.encode_header(header) == head


@pytest.mark.parametrize("name", MANIFEST["bad"])
def test_refuses_each_bad_frame_and_says_why(name: str) -> None:
    with pytest.raises(HookError, match=MANIFEST["bad"][name]) as caught:
        wire.decode_header(load(name)[0], MAX_PAYLOAD_BYTES)
    assert caught.value.code == "bad-frame"


def test_refuses_a_header_that_is_cut_short() -> None:
    with pytest.raises(HookError, match="header of 19 bytes"):
        wire.decode_header(load("hello")[0][:-1], MAX_PAYLOAD_BYTES)


def test_writes_the_request_of_the_fixture() -> None:
    payload = sent(MANIFEST["scoreColumns"])
    with pa.ipc.open_stream(payload) as reader:
        assert reader.read_next_batch().to_pydict() == MANIFEST["scoreColumns"]


def test_reads_the_replies_of_the_fixtures() -> None:
    score = wire.decode_batch(load("score-reply")[1], wire.RESULT_SCHEMA)
    assert score.to_pylist() == MANIFEST["resultRows"]
    parsed = wire.decode_batch(load("json-reply")[1], wire.JSON_SCHEMA)
    assert parsed.to_pylist() == MANIFEST["jsonRows"]


def test_a_reply_of_another_schema_is_refused() -> None:
    with pytest.raises(HookError, match="Arrow schema"):
        wire.decode_batch(load("json-reply")[1], wire.RESULT_SCHEMA)


def test_raw_scores_must_fit_the_number_of_rows() -> None:
    body = memoryview(load("score-reply-f64")[1])
    results = hook_batches.score_results(Kind.REPLY_F64, body, 3)
    assert [result.value for result in results] == MANIFEST["f64"]
    with pytest.raises(HookError, match="24 bytes of scores for 4 rows"):
        hook_batches.score_results(Kind.REPLY_F64, body, 4)


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert wire.well_formed("a\ud800b\udfff\ud83d\ude00") == "a\ufffdb\ufffd😀"
    with pa.ipc.open_stream(sent({"response": ["\ud800x", "fine", None]})) as reader:
        assert reader.read_next_batch().to_pydict() == {"response": ["\ufffdx", "fine", None]}


@given(st.lists(st.text() | st.none()))
def test_every_text_of_unicode_survives_the_batch(texts: list[str | None]) -> None:
    with pa.ipc.open_stream(sent({"response": texts})) as reader:
        assert reader.read_next_batch().column(0).to_pylist() == texts


@given(st.text(st.characters()))
def test_only_lone_surrogates_are_replaced(text: str) -> None:
    joined = re.sub(
        "([\ud800-\udbff])([\udc00-\udfff])",
        lambda pair: chr(0x10000 + (ord(pair[1]) - 0xD800) * 0x400 + ord(pair[2]) - 0xDC00),
        text,
    )
    assert wire.well_formed(text) == re.sub("[\ud800-\udfff]", "\ufffd", joined)


@given(
    st.sampled_from(Op),
    st.sampled_from(Kind),
    st.integers(0, 255),
    st.integers(0, 2**64 - 1),
    st.integers(0, MAX_PAYLOAD_BYTES),
)
def test_a_header_survives_its_bytes(op: Op, kind: Kind, attempt: int, id: int, size: int) -> None:
    header = Header(op, kind, attempt, id, size)
    assert wire.decode_header(wire.encode_header(header), MAX_PAYLOAD_BYTES) == header


def test_mutated_replies_are_read_or_refused_and_nothing_else() -> None:
    # `npm run fuzz` asks for a million, another seed each time.
    frames = int(os.environ.get("GENENV_FUZZ_FRAMES", "3000"))
    seed = int(os.environ.get("GENENV_FUZZ_SEED", "1"))
    assert fuzz_replies(frames, seed) > frames / 4


def fuzz_replies(frames: int, seed: int) -> int:
    """Decodes so many mutated replies; returns how many were refused, raises on any other end."""
    draw = random.Random(seed)
    good = [(FOLDER / f"{name}.bin").read_bytes() for name in MANIFEST["good"]]
    refused = 0
    for _ in range(frames):
        data = mutate(draw.choice(good), draw)
        try:
            decode_reply(data)
        except HookError:
            refused += 1
    return refused


def decode_reply(data: bytes) -> None:
    header = wire.decode_header(data[:HEADER_BYTES], MAX_PAYLOAD_BYTES)
    payload = memoryview(data)[HEADER_BYTES : HEADER_BYTES + header.length]
    if len(payload) < header.length:
        raise wire.bad_frame("is cut short")
    if header.kind is Kind.ERROR:
        raise hook_channel.host_error(payload)
    if header.op is Op.SCORE:
        hook_batches.score_results(header.kind, payload, 4)
    else:
        wire.decode_batch(payload, wire.JSON_SCHEMA)


def mutate(data: bytes, draw: random.Random) -> bytes:
    """The bytes with a few flipped, cut, doubled or replaced by edge values."""
    out = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(out)) if out else 0
        choice = draw.randrange(5)
        if choice == 0 and out:
            out[at] ^= 1 << draw.randrange(8)
        elif choice == 1:
            del out[at:]
        elif choice == 2:
            out[at : at + 4] = draw.choice([b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"])
        elif choice == 3:
            out[at:at] = draw.randbytes(draw.randint(1, 9))
        else:
            out[at:at] = out[: draw.randint(0, 32)]
    return bytes(out)
