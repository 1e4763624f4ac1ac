"""What a connection on one machine has beside its socket: memory for payloads, a pipe for replies.

Linux only, where the host names a file in shared memory. The socket alone does the same, slower.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from genenv import wire

if TYPE_CHECKING:
    import pyarrow as pa

    from genenv.wire import Header

_ALIGNMENT = 64
_MIN_SHARED_BYTES = 1 << 14
_PIPE_BYTES = 1 << 16
"""What a pipe of Linux holds: one read empties it, and every frame in it is whole."""


class LocalLink:
    """The host reads payloads from the memory, and its workers answer through the pipe."""

    def __init__(self, memory: mmap.mmap, pipe: int, pipe_path: str) -> None:
        self._view = memoryview(memory)
        self._used = 0
        self._pipe = pipe
        self._pipe_path = pipe_path

    @staticmethod
    def open(path: str) -> LocalLink:
        """`path` is as the host says it. Call before the next frame: the host then looks for it."""
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            # Its memory lives as long as both ends hold it open, and no longer.
            Path(path).unlink()
            memory = mmap.mmap(descriptor, wire.MAPPED_BYTES)
        finally:
            os.close(descriptor)
        pipe_path = path + wire.PIPE_SUFFIX
        os.mkfifo(pipe_path, 0o600)
        pipe = os.open(pipe_path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        return LocalLink(memory, pipe, pipe_path)

    def fileno(self) -> int:
        return self._pipe

    def read(self) -> list[tuple[Header, memoryview]]:
        """The frames that are in the pipe now. Raises EOFError where nobody can write any more."""
        data = memoryview(os.read(self._pipe, _PIPE_BYTES))
        if len(data) == 0:
            raise EOFError("the hook host closed its pipe")
        frames = []
        while len(data) > 0:
            header = wire.decode_header(data[: wire.HEADER_BYTES], wire.PIPE_REPLY_BYTES)
            end = wire.HEADER_BYTES + header.length
            if end > len(data):
                raise wire.bad_frame(f"of {end} bytes is cut short in the pipe")
            frames.append((header, data[wire.HEADER_BYTES : end]))
            data = data[end:]
        return frames

    def clear(self) -> None:
        """Call when no request is under way."""
        self._used = 0

    def write(self, batch: pa.RecordBatch) -> bytes | None:
        """Where the batch lies now, as REQUEST_MAPPED says it; None where it has no room."""
        start, size = self._used, wire.batch_bytes(batch)
        if size < _MIN_SHARED_BYTES or start + size > wire.MAPPED_BYTES:
            return None
        length = wire.write_batch(batch, self._view[start : start + size])
        self._used = -(-(start + length) // _ALIGNMENT) * _ALIGNMENT
        return struct.pack("<II", start, length)

    def close(self) -> None:
        os.close(self._pipe)
        # The host takes the name away as soon as it has opened it.
        Path(self._pipe_path).unlink(missing_ok=True)
