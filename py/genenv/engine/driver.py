"""A session's driver process: ``python -m genenv.engine.driver CONFIG_FILE``.

The file holds the environment, vLLM's engine arguments and the socket's path. Requests arrive as
``{"id", "call", "args"}`` and are answered, in any order, with ``{"id", "event"}`` and one
``{"id", "result"}`` or ``{"id", "error"}``; ``{"call": "cancel", "id"}`` gives one up. When the
other side goes away, so does this process.
"""

import asyncio
import json
import os
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genenv.channel import Channel, ChannelClosed
from genenv.job_server import to_error
from genenv.process import die_with_parent

if TYPE_CHECKING:
    from genenv.engine.engine import Engine


def main(config_file: str) -> None:
    die_with_parent()
    settings = json.loads(Path(config_file).read_text())
    # Before vLLM is imported: it reads these at import.
    os.environ.update(settings["environment"])
    # vLLM forks its engine from here, and its own watch over a parent's death is too slow.
    os.register_at_fork(after_in_child=die_with_parent)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(settings["socket"])
    code = asyncio.run(_run(Channel(sock), settings["arguments"]))
    sys.stdout.flush()
    # Not by way of exit handlers: threads of vLLM's may hold them up.
    os._exit(code)


async def _run(channel: Channel, arguments: dict[str, Any]) -> int:
    started = time.monotonic()
    try:
        from genenv.engine.engine import Engine

        engine = Engine(arguments)
    except BaseException as error:
        traceback.print_exc()
        channel.send({"id": 0, "error": to_error(error)})
        return 1
    seconds = time.monotonic() - started
    channel.send({"id": 0, "result": {"seconds": seconds} | engine.status()})
    try:
        await _Server(channel, engine).serve()
    finally:
        engine.shut_down()
    return 0


class _Server:
    """Requests as tasks of one event loop; a thread only reads the socket."""

    def __init__(self, channel: Channel, engine: "Engine") -> None:
        self._channel = channel
        self._engine = engine
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._ended = asyncio.Event()

    async def serve(self) -> None:
        """Return when the other side has gone or said "stop"."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="read", daemon=True).start()
        await self._ended.wait()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while True:
                loop.call_soon_threadsafe(self._take, self._channel.receive())
        except (ChannelClosed, RuntimeError):  # RuntimeError: the loop has been closed
            loop.call_soon_threadsafe(self._ended.set)

    def _take(self, message: dict[str, Any]) -> None:
        number, call = message["id"], message["call"]
        if call == "stop":
            self._ended.set()
        elif call == "cancel":
            if number in self._tasks:
                self._tasks[number].cancel()
        else:
            task = asyncio.get_running_loop().create_task(self._answer(number, call, message))
            self._tasks[number] = task

    async def _answer(self, number: int, call: str, message: dict[str, Any]) -> None:
        def emit(event: dict[str, Any]) -> None:
            self._channel.send({"id": number, "event": event})

        try:
            result = await self._call(call, message["args"], emit)
            self._channel.send({"id": number, "result": result})
        except ChannelClosed:
            self._ended.set()
        except asyncio.CancelledError:
            self._channel.send({"id": number, "result": None})
        except BaseException as error:
            cause = _first(error)
            traceback.print_exception(cause)
            self._channel.send({"id": number, "error": to_error(cause)})
        finally:
            self._tasks.pop(number, None)

    async def _call(self, call: str, args: dict[str, Any], emit: Any) -> dict[str, Any]:
        if call == "generate":
            return await self._engine.generate(emit, **args)
        if call == "tokenize":
            return await self._engine.tokenize(**args)
        if call == "status":
            return self._engine.status()
        raise ValueError(f"unknown call {call!r}; known: generate, tokenize, status")


def _first(error: BaseException) -> BaseException:
    """The failure inside a task group's exception: the first one, which cancelled the others."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    main(sys.argv[1])
