"""Length-prefixed JSON messages over a stream socket: how this project's Python processes talk.

A frame is a u32 little-endian byte count and that many bytes of UTF-8 JSON. Numbers must be finite.
"""

import contextlib
import json
import select
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<I")
MAX_FRAME_BYTES = 256 * 1024 * 1024


class ChannelClosed(ConnectionError):
    """The other side went away."""


class Channel:
    """One connected socket. Not thread-safe: one owner sends, one owner receives."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def fileno(self) -> int:
        """The descriptor, for ``select``."""
        return self._socket.fileno()

    def send(self, message: Any) -> None:
        """Send one message.

        Raises:
            ValueError: a number in it is NaN or infinite.
            ChannelClosed: the other side is gone.
        """
        body = json.dumps(message, allow_nan=False).encode()
        try:
            self._socket.sendall(_LENGTH.pack(len(body)) + body)
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def receive(self) -> Any:
        """Wait for one message.

        Raises:
            ChannelClosed: the other side is gone, or sent a frame over ``MAX_FRAME_BYTES``.
        """
        (size,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if size > MAX_FRAME_BYTES:
            raise ChannelClosed(f"a frame of {size} bytes is over the limit of {MAX_FRAME_BYTES}")
        return json.loads(self._exactly(size))

    def has_message(self) -> bool:
        """Whether the other side has written (or gone) since the last ``receive``."""
        ready, _, _ = select.select([self._socket], [], [], 0)
        return bool(ready)

    def shut_down(self) -> None:
        """End the connection for both sides; unlike ``close``, it wakes a thread that receives."""
        with contextlib.suppress(OSError):  # the other side has gone before
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket; the other side sees ``ChannelClosed``."""
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self._socket.recv(min(size - len(parts), 1 << 20))
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not part:
                raise ChannelClosed("the other side closed the connection")
            parts += part
        return bytes(parts)
