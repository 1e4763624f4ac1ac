"""The loop's end of a role: starts its driver process, sends commands, and notices its death."""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genenv.channel import Channel, ChannelClosed
from genenv.driver_process import died, end, failed
from genenv.errors import WorkerError

_STOP_SECONDS = 8.0
_STOP_POLL_SECONDS = 0.1
_DYING_SECONDS = 1.0


class RoleHandle:
    """One driver process. ``start`` returns at once; ``wait_until_ready`` collects it."""

    def __init__(
        self,
        role: str,
        folder: Path,
        log_file: Path,
        cause: Callable[[], WorkerError | None] = lambda: None,
    ) -> None:
        """``cause`` names a death elsewhere in the run that explains a failure here, or None."""
        self.role = role
        self._cause = cause
        self._folder = folder
        self._log_file = log_file
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: socket.socket | None = None

    def start(
        self, settings: dict[str, Any], python: str | None, environment: dict[str, str]
    ) -> None:
        """Spawn the driver; ``python`` is the fork server's client, None for the plain Python."""
        path = self._folder / f"{self.role}.sock"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        config = self._folder / f"{self.role}.json"
        config.write_text(json.dumps(settings | {"role": self.role, "socket": str(path)}))
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [python or sys.executable, "-m", "genenv.role.driver", str(config)],
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_until_ready(self, timeout_s: float, cancelled: threading.Event) -> float:
        """Seconds its start took.

        Raises:
            WorkerError: the driver ended or failed; the message carries the last lines of its log.
            InterruptedError: ``cancelled`` was set first.
        """
        assert self._listener is not None
        self._listener.settimeout(0.2)
        deadline = time.monotonic() + timeout_s
        while self._channel is None:
            try:
                connection, _ = self._listener.accept()
                connection.setblocking(True)
                self._channel = Channel(connection)
            except TimeoutError:
                self._refuse_dead_or_late(deadline, timeout_s, cancelled)
        connection.settimeout(0.2)
        while True:
            try:
                first = connection.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                self._refuse_dead_or_late(deadline, timeout_s, cancelled)
                continue
            if not first:
                raise self._died()
            break
        connection.setblocking(True)
        return float(self._result()["seconds"])

    def _refuse_dead_or_late(
        self, deadline: float, timeout_s: float, cancelled: threading.Event
    ) -> None:
        if cancelled.is_set():
            raise InterruptedError("stopped while the roles were starting")
        cause = self._cause()
        if cause is not None:
            raise cause
        assert self._process is not None
        if self._process.poll() is not None:
            raise self._died()
        if time.monotonic() > deadline:
            raise WorkerError(
                f"the {self.role} role was not ready after {timeout_s:.0f} s",
                code="role-late",
                hint=f"see {self._log_file}",
            )

    def send(self, call: str, **args: Any) -> None:
        """Send a command without waiting; collect its answer with ``collect``."""
        if self._channel is None:
            raise WorkerError(
                f"the {self.role} role is not running",
                code="role-not-running",
                hint=f"see {self._log_file}",
            )
        self._write({"call": call, "args": args})

    def _write(self, message: dict[str, Any]) -> None:
        assert self._channel is not None
        try:
            self._channel.send(message)
        except ChannelClosed as error:
            raise self._died() from error

    def collect(self) -> Any:
        """Wait for the answer of the last ``send``."""
        return self._result()

    def rollout(self, stop: threading.Event, **args: Any) -> dict[str, Any]:
        """Roll out, or give up as soon as ``stop`` is set.

        Raises:
            InterruptedError: it was given up; its rows are lost.
            WorkerError: it failed, or the role's process died.
        """
        self.send("rollout", **args)
        assert self._channel is not None
        while not select.select([self._channel], [], [], _STOP_POLL_SECONDS)[0]:
            if stop.is_set():
                self._write({"call": "cancel"})
                break
        result = self._result()
        if result is None:
            raise InterruptedError(f"stopped during the {self.role}'s rollout")
        if result["failed"] and not result["rows"]:
            self._raise_a_death()
        return result

    def _raise_a_death(self) -> None:
        """Raise the death that explains why nothing came back, where there is one.

        A killed process's connections close a moment before it counts as dead.
        """
        deadline = time.monotonic() + _DYING_SECONDS
        while (cause := self._cause()) is None and time.monotonic() < deadline:
            time.sleep(_STOP_POLL_SECONDS)
        if cause is not None:
            raise cause

    def call(self, name: str, **args: Any) -> Any:
        """Send a command and wait for its answer.

        Raises:
            WorkerError: the command failed in the role, or its process died.
        """
        self.send(name, **args)
        return self.collect()

    def _result(self) -> Any:
        assert self._channel is not None
        try:
            message = self._channel.receive()
        except ChannelClosed as error:
            raise self._died() from error
        if "error" in message:
            what = f"the {self.role} role failed"
            raise self._cause() or failed(what, "role-failed", message["error"], self._log_file)
        return message["result"]

    def _died(self) -> WorkerError:
        cause = self._cause()
        if cause is not None:
            return cause
        assert self._process is not None
        return died(f"the {self.role} role's", "role-died", self._process, self._log_file)

    def give_up(self) -> None:
        """Make whoever waits for this role see it as dead; for another thread to call."""
        if self._channel is not None:
            self._channel.shut_down()

    def ask_to_stop(self) -> None:
        """Tell the driver to end, without waiting; ``stop`` waits."""
        if self._channel is not None:
            with contextlib.suppress(ChannelClosed):
                self._channel.send({"call": "stop"})

    def stop(self) -> None:
        """End the driver: politely, then by force; at once where there is nothing to wait for."""
        self.ask_to_stop()
        if self._process is not None:
            end(self._process, _STOP_SECONDS if self._cause() is None else 0)
        for owned in (self._channel, self._listener):
            if owned is not None:
                owned.close()
