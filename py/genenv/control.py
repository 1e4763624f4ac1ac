"""The Python end of the control plane: jobs in through pythonia, results out over a socket.

pythonia (1.2.6) carries strings one call at a time and nothing else: Node calls connect() once and
submit() with {"id", "method", "params"} as JSON. Each job runs in a thread of its own and answers
on a private Unix socket. Light on purpose: a job's module is imported when the job is asked for.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  (its exit hook must be older than ours, see _settle)
import contextlib
import faulthandler
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from genenv.channel import Channel
from genenv.job_server import JobServer
from genenv.process import die_with_parent

_JOBS = {
    "train": "genenv.loop.run:train",
    "check": "genenv.loop.check:check",
    "check-cluster": "genenv.loop.check:check_cluster",
    "ping": "genenv.small_jobs:ping",
    "version": "genenv.small_jobs:version",
    "find-model": "genenv.models:find_job",
    "score": "genenv.score_job:score",
    "token-lengths": "genenv.token_lengths:token_lengths",
    "session.open": "genenv.engine.sessions:open_session",
    "session.generate": "genenv.engine.sessions:generate",
    "session.tokenize": "genenv.engine.sessions:tokenize",
    "session.status": "genenv.engine.sessions:status",
    "session.close": "genenv.engine.sessions:close",
}
_TEST_JOBS = {
    f"debug.{name}": f"genenv.small_jobs:debug_{name}"
    for name in ("sleep", "echo", "fail", "die", "nan", "events", "stubborn")
}

_server: JobServer | None = None


def connect(socket_path: str, grace_s: float) -> str:
    """Makes this process a job server that answers on `socket_path`; the first call from Node.

    `grace_s` is how long jobs get to end by themselves once Node is gone.
    """
    global _server
    _settle()
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(socket_path)
    jobs = {**_JOBS, **(_TEST_JOBS if os.environ.get("GENENV_TEST") == "1" else {})}
    server = JobServer(Channel(sock), jobs, leave=_leave)
    _server = server
    # Not a daemon: the interpreter waits for it when pythonia's own loop ends with Node.
    watch = threading.Thread(target=server.watch, args=(grace_s,), name="control-watch")
    watch.start()
    threading._register_atexit(watch.join)
    signal.signal(signal.SIGTERM, lambda *_: server.shut_down_soon(grace_s, orphaned=True))
    # Ctrl-C is Node's to handle. A handler, since "ignore" would be inherited by every child.
    signal.signal(signal.SIGINT, lambda *_: None)
    # The parent is the worker thread in Node that started this process: they end together.
    die_with_parent(sig=signal.SIGTERM)
    return "ok"


def submit(request: str) -> int:
    """Starts the job that `request` describes and returns at once."""
    if _server is None:
        raise RuntimeError("submit() before connect()")
    _server.submit(request)
    return 1


def _settle() -> None:
    """Removes what pythonia's way of starting Python leaves behind for the processes we start."""
    faulthandler.enable()
    # A Node started from here would take the channel for its own and abort.
    channel = os.environ.pop("NODE_CHANNEL_FD", None)
    os.environ.pop("NODE_CHANNEL_SERIALIZATION_MODE", None)
    if channel is not None:
        # pythonia talks over a duplicate.
        os.close(int(channel))
    # multiprocessing's spawn would run pythonia's script again in each child.
    main = sys.modules["__main__"]
    main.__dict__.pop("__file__", None)
    main.__spec__ = None
    # Its folder holds modules called proxy, ws and Bridge.
    sys.path[:] = [path for path in sys.path if Path(path).name != "pythonia"]
    # A group of our own: the terminal's Ctrl-C goes to Node alone, and the group can be ended.
    with contextlib.suppress(PermissionError):
        os.setsid()


def _leave(code: int, orphaned: bool) -> None:
    """End this process; where Node is gone, its group too (the reaper does the rest)."""
    sys.stdout.flush()
    sys.stderr.flush()
    if orphaned and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(code)
