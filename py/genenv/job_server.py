"""Runs jobs in threads and reports on a channel: the control plane without pythonia."""

from __future__ import annotations

import atexit
import importlib
import json
import math
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from genenv.channel import Channel, ChannelClosed
from genenv.errors import GenEnvError, PythonError

Emit = Callable[[dict[str, Any]], None]
Job = Callable[[dict[str, Any], Emit, threading.Event], Any]

# What the libraries' own exit hooks (Ray's, loggers') get before the process ends without them.
_EXIT_HOOKS_S = 5.0


class JobServer:
    """Jobs by id: started by submit(), stopped by "cancel", all ended by shut_down()."""

    def __init__(
        self, channel: Channel, jobs: Mapping[str, str], leave: Callable[[int, bool], None]
    ) -> None:
        """`jobs` maps a method to "module:function"; `leave(code, orphaned)` ends the process."""
        self._channel = channel
        self._jobs = jobs
        self._leave = leave
        self._sending = threading.Lock()
        self._running: dict[int, tuple[threading.Thread, threading.Event]] = {}
        self._leaving = threading.Lock()

    def submit(self, request: str) -> None:
        """Starts a job, or acts on "cancel" {"job"} and "shutdown" {"graceMs"}; returns at once."""
        message = json.loads(request)
        job_id, method, params = message["id"], message["method"], message["params"]
        if method == "cancel":
            self._send({"id": job_id, "result": {"found": self._cancel(params["job"])}})
        elif method == "shutdown":
            self.shut_down_soon(params["graceMs"] / 1000, orphaned=False)
        else:
            stop = threading.Event()
            # A daemon, so that a job that never ends can't hold the process.
            thread = threading.Thread(
                target=self._run,
                args=(job_id, method, params, stop),
                name=f"job-{job_id}-{method}",
                daemon=True,
            )
            self._running[job_id] = (thread, stop)
            thread.start()

    def watch(self, grace_s: float) -> None:
        """Waits for the other side to go away, then ends this process in an orderly way."""
        try:
            while True:
                self._channel.receive()
        except ChannelClosed:
            self.shut_down(grace_s, orphaned=True)

    def shut_down_soon(self, grace_s: float, *, orphaned: bool) -> None:
        """shut_down() in a thread of its own, for callers that must return."""
        threading.Thread(
            target=self.shut_down, args=(grace_s,), kwargs={"orphaned": orphaned}, name="shutdown"
        ).start()

    def shut_down(self, grace_s: float, *, orphaned: bool) -> None:
        """Asks all jobs to stop, waits `grace_s` for them, runs exit hooks, leaves the process.

        The process leaves with 0 if every job ended by itself, else with 1.
        """
        if not self._leaving.acquire(blocking=False):
            # Another thread is at it; this one must not return before it has left.
            threading.Event().wait()
        # The kernel's own backstop: it works even where a job holds the interpreter's lock.
        signal.setitimer(signal.ITIMER_REAL, grace_s + _EXIT_HOOKS_S + 5.0)
        end = time.monotonic() + grace_s
        threads = [thread for thread, _ in self._running.values()]
        for _, stop in list(self._running.values()):
            stop.set()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        hooks = threading.Thread(target=atexit._run_exitfuncs, name="exit-hooks", daemon=True)
        hooks.start()
        hooks.join(_EXIT_HOOKS_S)
        self._leave(1 if any(thread.is_alive() for thread in threads) else 0, orphaned)

    def _cancel(self, job_id: int) -> bool:
        running = self._running.get(job_id)
        if running is not None:
            running[1].set()
        return running is not None

    def _run(self, job_id: int, method: str, params: dict[str, Any], stop: threading.Event) -> None:
        def emit(event: dict[str, Any]) -> None:
            self._send_finite({"id": job_id, "event": event}, f'an event of "{method}"')

        try:
            result = self._load(method)(params, emit, stop)
            self._send_finite({"id": job_id, "result": result}, f'the result of "{method}"')
        except ChannelClosed:
            # Nobody is left to tell; watch() is already ending the process.
            pass
        except BaseException as error:  # SystemExit too must reach the caller, not end a thread
            self._send({"id": job_id, "error": to_error(error)})
        finally:
            self._running.pop(job_id, None)

    def _load(self, method: str) -> Job:
        spec = self._jobs.get(method)
        if spec is None:
            raise PythonError(
                f'there is no job "{method}"',
                code="unknown-job",
                hint=f"the jobs are {', '.join(self._jobs)}",
            )
        module, function = spec.split(":")
        return getattr(importlib.import_module(module), function)

    def _send_finite(self, message: dict[str, Any], what: str) -> None:
        try:
            self._send(message)
        except (TypeError, ValueError) as error:
            raise PythonError(
                f"{what} can't be sent as JSON: {describe_unsendable(message)}",
                code="bad-result",
            ) from error

    def _send(self, message: dict[str, Any]) -> None:
        with self._sending:
            self._channel.send(message)


def to_error(error: BaseException) -> dict[str, Any]:
    """The wire's form of an exception: its type's full name, code, message, hint and traceback."""
    known = error if isinstance(error, GenEnvError) else None
    kind = type(error)
    return {
        "type": f"{kind.__module__}.{kind.__qualname__}",
        "code": known.code if known else "python-error",
        "message": str(error) or kind.__qualname__,
        "hint": known.hint if known else None,
        "traceback": "".join(traceback.format_exception(error)),
    }


def describe_unsendable(value: Any, path: str = "") -> str:
    """Where in `value` the first thing is that JSON can't carry: "event.loss is nan"."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"{path or 'it'} has the key {key!r}, which is not a string"
            found = describe_unsendable(item, f"{path}.{key}" if path else key)
            if found:
                return found
        return ""
    if isinstance(value, list | tuple):
        found = (describe_unsendable(item, f"{path}[{i}]") for i, item in enumerate(value))
        return next(filter(None, found), "")
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path} is {value}"
    if value is None or isinstance(value, str | int | float):
        return ""
    return f"{path} is a {type(value).__module__}.{type(value).__qualname__}"
