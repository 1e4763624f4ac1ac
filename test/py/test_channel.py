"""Frames of JSON over a real socket pair."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from genenv import channel as channel_module
from genenv.channel import MAX_FRAME_BYTES, Channel, ChannelClosed


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel, socket.socket]]:
    """Two ends of one connection, and the raw socket of the second."""
    near, far = socket.socketpair()
    near.settimeout(10)
    far.settimeout(10)
    yield Channel(near), Channel(far), far
    near.close()
    far.close()


Ends = tuple[Channel, Channel, socket.socket]


@pytest.mark.parametrize(
    "message",
    [{"a": [1, 2.5, None, True, "ü\n\x00"]}, [], None, "", 1e308, "\ud800", {"": {"": {}}}],
)
def test_a_message_arrives_as_it_was_sent(ends: Ends, message: object) -> None:
    ends[0].send(message)
    assert ends[1].receive() == message


def test_messages_arrive_in_order_and_both_ways(ends: Ends) -> None:
    for i in range(20):
        ends[0].send(i)
    ends[1].send("back")
    assert [ends[1].receive() for _ in range(20)] == list(range(20))
    assert ends[0].receive() == "back"


def test_a_message_larger_than_the_sockets_buffer_arrives_whole(ends: Ends) -> None:
    text = "x" * (5 << 20)
    sender = threading.Thread(target=ends[0].send, args=(text,))
    sender.start()
    assert ends[1].receive() == text
    sender.join()


def test_a_frame_in_pieces_is_put_together(ends: Ends) -> None:
    frame = struct.pack("<I", 7) + b'{"a":1}'
    reader: list[object] = []
    thread = threading.Thread(target=lambda: reader.append(ends[0].receive()))
    thread.start()
    for byte in frame:
        ends[2].sendall(bytes([byte]))
    thread.join(10)
    assert reader == [{"a": 1}]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused_and_nothing_is_sent(
    ends: Ends, number: float
) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        ends[0].send({"loss": [1.0, number]})
    ends[0].send("next")
    assert ends[1].receive() == "next"


def test_a_frame_over_the_limit_is_refused_before_it_is_read(ends: Ends) -> None:
    ends[2].sendall(struct.pack("<I", MAX_FRAME_BYTES + 1))
    with pytest.raises(ChannelClosed, match="268435457 bytes is over the limit of 268435456"):
        ends[0].receive()


def test_a_frame_exactly_at_the_limit_is_taken(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "MAX_FRAME_BYTES", 4)
    ends[0].send("ab")
    assert ends[1].receive() == "ab"
    ends[0].send("abc")
    with pytest.raises(ChannelClosed, match="5 bytes"):
        ends[1].receive()


def test_the_other_side_closing_is_an_error_of_its_own(ends: Ends) -> None:
    ends[1].close()
    with pytest.raises(ChannelClosed, match="closed the connection"):
        ends[0].receive()
    with pytest.raises(ChannelClosed):
        ends[0].send("anyone?")


def test_a_connection_that_ends_inside_a_frame_is_closed_not_a_message(ends: Ends) -> None:
    ends[2].sendall(struct.pack("<I", 100) + b"half")
    ends[1].close()
    with pytest.raises(ChannelClosed):
        ends[0].receive()


def test_it_tells_whether_the_other_side_wrote_or_left(ends: Ends) -> None:
    assert not ends[0].has_message()
    ends[1].send(1)
    assert ends[0].has_message()
    ends[0].receive()
    assert not ends[0].has_message()
    ends[1].close()
    assert ends[0].has_message()
