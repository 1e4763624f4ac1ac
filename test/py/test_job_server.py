"""The job server on a socket pair, and control.py's way into it in a process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from genenv.channel import Channel
from genenv.errors import ConfigError
from genenv.job_server import JobServer, describe_unsendable, to_error

JOBS = {
    f"debug.{name}": f"genenv.small_jobs:debug_{name}"
    for name in ("echo", "sleep", "events", "nan", "stubborn", "fail")
}
PACKAGES = Path(__file__).parents[2] / "py"


class Served:
    """A server, Node's end of its channel, and how it left."""

    def __init__(self) -> None:
        near, far = socket.socketpair()
        self.node = Channel(near)
        self.left: list[tuple[int, bool]] = []
        self.gone = threading.Event()
        self.server = JobServer(Channel(far), JOBS, leave=self._leave)
        near.settimeout(10)

    def _leave(self, code: int, orphaned: bool) -> None:
        self.left.append((code, orphaned))
        self.gone.set()

    def submit(self, job_id: int, method: str, **params: object) -> None:
        self.server.submit(json.dumps({"id": job_id, "method": method, "params": params}))


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    # The real ones would end this test's process, and run its exit hooks.
    monkeypatch.setattr("genenv.job_server.signal.setitimer", lambda *_: None)
    monkeypatch.setattr("genenv.job_server.atexit._run_exitfuncs", lambda: None)
    served = Served()
    yield served
    served.node.close()


def test_answers_with_the_result_after_the_events_in_order(served: Served) -> None:
    served.submit(1, "debug.events", count=3)
    got = [served.node.receive() for _ in range(4)]
    assert got == [
        *({"id": 1, "event": {"type": "tick", "i": i}} for i in range(3)),
        {"id": 1, "result": {"count": 3}},
    ]


def test_runs_a_quick_job_while_a_slow_one_waits(served: Served) -> None:
    served.submit(1, "debug.sleep", seconds=60)
    served.submit(2, "debug.echo", a=None)
    assert served.node.receive() == {"id": 2, "result": {"a": None}}


def test_cancel_sets_the_stop_event_of_its_job_alone(served: Served) -> None:
    served.submit(1, "debug.sleep", seconds=60)
    served.submit(2, "debug.sleep", seconds=60)
    served.submit(3, "cancel", job=1)
    answers = sorted((served.node.receive() for _ in range(2)), key=lambda answer: answer["id"])
    assert answers == [
        {"id": 1, "result": {"stopped": True}},
        {"id": 3, "result": {"found": True}},
    ]
    served.submit(4, "cancel", job=99)
    assert served.node.receive() == {"id": 4, "result": {"found": False}}


def test_a_failed_job_answers_with_type_message_and_traceback(served: Served) -> None:
    served.submit(1, "debug.fail", message="no")
    error = served.node.receive()["error"]
    assert (error["type"], error["code"], error["message"], error["hint"]) == (
        "builtins.ValueError",
        "python-error",
        "no",
        None,
    )
    assert "debug_fail" in error["traceback"]


def test_an_unknown_job_answers_with_the_names_there_are(served: Served) -> None:
    served.submit(1, "debug.ecko")
    error = served.node.receive()["error"]
    assert error["code"] == "unknown-job"
    assert "debug.echo" in error["hint"]


def test_a_result_that_json_cannot_carry_is_an_error_that_names_the_place(served: Served) -> None:
    served.submit(1, "debug.nan")
    error = served.node.receive()["error"]
    assert error["code"] == "bad-result"
    assert "result.metrics.loss[1] is nan" in error["message"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, {"b": float("inf")}]}, "a[1].b is inf"),
        ({"a": np.float32(1)}, "a is a numpy.float32"),
        ({"a": b"x"}, "a is a builtins.bytes"),
        ({1: "x"}, "it has the key 1, which is not a string"),
        ({"a": [None, True, 2, "x", 0.5]}, ""),
    ],
)
def test_names_the_first_thing_that_json_cannot_carry(value: object, text: str) -> None:
    assert describe_unsendable(value) == text


def test_an_error_of_ours_keeps_its_code_and_hint_and_shows_its_cause() -> None:
    try:
        raise ConfigError("8 prompts", code="bad-batch", hint="use 4") from KeyError("n")
    except ConfigError as error:
        wire = to_error(error)
    assert wire["type"] == "genenv.errors.ConfigError"
    assert (wire["code"], wire["hint"]) == ("bad-batch", "use 4")
    assert "KeyError" in wire["traceback"]


def test_shutdown_lets_jobs_end_and_leaves_with_0(served: Served) -> None:
    served.submit(1, "debug.sleep", seconds=60)
    served.submit(2, "shutdown", graceMs=5000)
    assert served.node.receive() == {"id": 1, "result": {"stopped": True}}
    assert served.gone.wait(5)
    assert served.left == [(0, False)]


def test_shutdown_does_not_wait_longer_than_the_grace_for_a_job(served: Served) -> None:
    served.submit(1, "debug.stubborn")
    served.submit(2, "shutdown", graceMs=50)
    assert served.gone.wait(5)
    assert served.left == [(1, False)]


def test_leaves_as_an_orphan_when_the_other_side_goes_away(served: Served) -> None:
    threading.Thread(target=served.server.watch, args=(5.0,), daemon=True).start()
    served.submit(1, "debug.sleep", seconds=60)
    served.node.close()
    assert served.gone.wait(5)
    assert served.left == [(0, True)]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session's private folder."""
    folder = tmp_path / "session"
    folder.mkdir()
    return folder


def run_connected(program: str, folder: Path, **options: Any) -> tuple[int, str]:
    """Runs `program` as a script after control.connect(), as in pythonia; exit code and output."""
    path = folder / "control.sock"
    script = folder.parent / "program.py"
    head = f"import genenv.control as c\nc.connect({str(path)!r}, 0.1)\n"
    script.write_text(head + textwrap.dedent(program))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONPATH": str(PACKAGES), **options.pop("env", {})},
            stdout=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
            **options,
        )
    return done.returncode, done.stdout


def test_connect_removes_what_pythonia_leaves_behind(session: Path) -> None:
    program = """
        import os, sys
        print("NODE_CHANNEL_FD" in os.environ, hasattr(sys.modules["__main__"], "__file__"))
        print(sys.modules["__main__"].__spec__, os.getpgrp() == os.getpid(), flush=True)
        os._exit(0)
    """
    read, write = os.pipe()
    try:
        env = {"NODE_CHANNEL_FD": str(write)}
        _, out = run_connected(program, session, env=env, pass_fds=(write,))
    finally:
        os.close(read)
        os.close(write)
    assert out.split() == ["False", "False", "None", "True"]


def test_multiprocessing_spawn_works_after_connect(session: Path) -> None:
    program = """
        import multiprocessing, os
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.map(abs, [-3]), flush=True)
        os._exit(0)
    """
    assert run_connected(program, session) == (0, "[3]\n")


def test_connect_imports_none_of_the_engines(session: Path) -> None:
    program = """
        import os, sys
        print([name for name in ("torch", "ray", "vllm", "verl", "numpy") if name in sys.modules])
        sys.stdout.flush()
        os._exit(0)
    """
    assert run_connected(program, session) == (0, "[]\n")


def test_a_terminal_interrupt_does_not_end_it_and_sigterm_ends_it(session: Path) -> None:
    program = """
        import os, signal, time
        os.kill(os.getpid(), signal.SIGINT)
        print("still here", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    """
    assert run_connected(program, session) == (-9, "still here\n")
