"""The control process's end of a session: starts its driver, sends requests, notices its death."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genenv import errors
from genenv.channel import Channel, ChannelClosed
from genenv.driver_process import died, end, failed
from genenv.errors import GenEnvError, WorkerError

_STOP_SECONDS = 8.0
_POLL_SECONDS = 0.1
_GONE = object()


class EngineHandle:
    """One driver process; many requests at once, from any threads."""

    def __init__(self, folder: Path, log_file: Path) -> None:
        """``folder`` is private, short enough for a socket's path, and the caller's to remove."""
        self._folder = folder
        self._log_file = log_file
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[Any]] = {}
        self._dead = False

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(
        self,
        arguments: dict[str, Any],
        environment: dict[str, str],
        timeout_s: float,
        stop: threading.Event,
    ) -> dict[str, Any]:
        """Start the driver and wait until its model is loaded: seconds taken, and its status.

        Raises:
            WorkerError: it ended, failed or took too long; the message has its last words.
            InterruptedError: ``stop`` was set first.
        """
        path = self._folder / "engine.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen(1)
        listener.settimeout(_POLL_SECONDS)
        config = self._folder / "engine.json"
        settings = {"arguments": arguments, "environment": environment, "socket": str(path)}
        config.write_text(json.dumps(settings))
        self._process = self._spawn(config, environment)
        ready = self._expect(0)
        deadline = timeout_s
        with listener:
            while self._channel is None:
                try:
                    connection, _ = listener.accept()
                    connection.setblocking(True)
                    self._channel = Channel(connection)
                except TimeoutError:
                    deadline -= _POLL_SECONDS
                    self._refuse_dead_or_late(deadline, timeout_s, stop)
        threading.Thread(target=self._read, name="engine-read", daemon=True).start()
        while True:
            try:
                return self._result(ready.get(timeout=_POLL_SECONDS), "start")
            except queue.Empty:
                deadline -= _POLL_SECONDS
                self._refuse_dead_or_late(deadline, timeout_s, stop)

    def _spawn(self, config: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start the driver from a thread that lives as long as it.

        The kernel takes the thread that made a child for its parent (PR_SET_PDEATHSIG), and the
        caller's ends when its job does.
        """
        started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()

        def keep() -> None:
            try:
                with self._log_file.open("ab") as log:
                    process = subprocess.Popen(
                        [sys.executable, "-m", "genenv.engine.driver", str(config)],
                        env=os.environ | environment,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                    )
            except OSError as error:
                started.put(error)
                return
            started.put(process)
            process.wait()

        threading.Thread(target=keep, name="engine-keeper", daemon=True).start()
        process = started.get()
        if isinstance(process, OSError):
            raise process
        return process

    def call(
        self,
        name: str,
        args: dict[str, Any],
        stop: threading.Event,
        emit: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any:
        """A request's result; its events go to ``emit`` as they come. None where ``stop`` was set.

        Raises:
            WorkerError: the driver failed or died. An error of genenv's own comes as what it is.
        """
        number = next(self._numbers)
        answers = self._expect(number)
        try:
            self._send({"id": number, "call": name, "args": args})
            cancelled = False
            while True:
                if stop.is_set() and not cancelled:
                    cancelled = True
                    self._send({"id": number, "call": "cancel"})
                try:
                    message = answers.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    continue
                if message is _GONE or "event" not in message:
                    return self._result(message, name)
                if emit is not None and not cancelled:
                    emit(message["event"])
        finally:
            self._waiting.pop(number, None)

    def stop(self) -> None:
        """End the driver: politely, then by force."""
        with contextlib.suppress(GenEnvError):
            self._send({"id": 0, "call": "stop"})
        if self._process is not None:
            end(self._process, _STOP_SECONDS if self._channel is not None else 0)
        if self._channel is not None:
            self._channel.close()

    def _expect(self, number: int) -> queue.SimpleQueue[Any]:
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._waiting[number] = answers
        if self._dead:
            answers.put(_GONE)
        return answers

    def _send(self, message: dict[str, Any]) -> None:
        if self._channel is None:
            raise WorkerError("the engine is not running", code="engine-died")
        try:
            with self._sending:
                self._channel.send(message)
        except ChannelClosed as error:
            raise self._died() from error

    def _read(self) -> None:
        assert self._channel is not None
        with contextlib.suppress(ChannelClosed):
            while True:
                message = self._channel.receive()
                waiting = self._waiting.get(message["id"])
                if waiting is not None:
                    waiting.put(message)
        self._dead = True
        for waiting in list(self._waiting.values()):
            waiting.put(_GONE)

    def _result(self, message: Any, call: str) -> Any:
        if message is _GONE:
            raise self._died()
        if "error" in message:
            raise self._to_error(message["error"], call)
        return message["result"]

    def _to_error(self, failure: dict[str, Any], call: str) -> GenEnvError:
        kind = failure["type"].removeprefix("genenv.errors.")
        if kind in ("DataError", "ConfigError"):
            known: type[GenEnvError] = getattr(errors, kind)
            return known(failure["message"], code=failure["code"], hint=failure["hint"])
        return failed(f"the engine failed ({call})", "engine-failed", failure, self._log_file)

    def _refuse_dead_or_late(
        self, deadline: float, timeout_s: float, stop: threading.Event
    ) -> None:
        if stop.is_set():
            raise InterruptedError("stopped while the engine was starting")
        assert self._process is not None
        if self._process.poll() is not None and self._channel is None:
            raise self._died()
        if deadline <= 0:
            raise WorkerError(
                f"the engine was not ready after {timeout_s:.0f} s",
                code="engine-late",
                hint=f"see {self._log_file}",
            )

    def _died(self) -> WorkerError:
        assert self._process is not None
        return died("the engine's", "engine-died", self._process, self._log_file)
