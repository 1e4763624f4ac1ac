"""The loop's end of a role, on a driver process that only acts as one; and the driver's own end."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from genenv.channel import Channel
from genenv.errors import WorkerError
from genenv.role import driver, handle
from genenv.role.handle import RoleHandle

HERE = Path(__file__).parent
ENVIRONMENT = {"PYTHONPATH": str(HERE.parents[1] / "py"), "A": "from the loop"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's private folder, with a `python` in it that runs the stand-in driver."""
    script = tmp_path / "python"
    command = shlex.join([sys.executable, str(HERE / "fake_driver.py")])
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    script.chmod(0o700)
    return tmp_path


@pytest.fixture
def roles() -> Iterator[list[RoleHandle]]:
    started: list[RoleHandle] = []
    yield started
    for role in started:
        if role._process is not None and role._process.poll() is None:
            role._process.kill()
        role.stop()


def start(folder: Path, roles: list[RoleHandle], behaviour: str = "") -> RoleHandle:
    role = RoleHandle("agent", folder, folder / "agent.log")
    roles.append(role)
    role.start({"behaviour": behaviour}, str(folder / "python"), ENVIRONMENT)
    return role


def ready(folder: Path, roles: list[RoleHandle], behaviour: str = "") -> RoleHandle:
    role = start(folder, roles, behaviour)
    role.wait_until_ready(30, threading.Event())
    return role


def pid_of(role: RoleHandle) -> int:
    assert role._process is not None
    return role._process.pid


# -- starting --------------------------------------------------------------------------------------


def test_a_role_says_how_long_its_start_took(folder: Path, roles: list[RoleHandle]) -> None:
    assert start(folder, roles).wait_until_ready(30, threading.Event()) == 1.5


def test_a_role_works_in_the_loops_environment(folder: Path, roles: list[RoleHandle]) -> None:
    answer = ready(folder, roles).call("save", folder="/x")
    assert answer == {"call": "save", "args": {"folder": "/x"}, "A": "from the loop"}


@pytest.mark.parametrize(
    ("behaviour", "code"), [("dies before it connects", 3), ("dies before it is ready", -9)]
)
def test_a_role_that_dies_while_starting_is_reported_with_its_last_words(
    folder: Path, roles: list[RoleHandle], behaviour: str, code: int
) -> None:
    with pytest.raises(WorkerError) as caught:
        ready(folder, roles, behaviour)
    assert caught.value.code == "role-died"
    killed = " (the system does that when memory runs out)" if code == -9 else ""
    assert str(caught.value) == (
        f"the agent role's process ended with exit code {code}{killed}; "
        "its log ends with: log line 39"
    )
    assert caught.value.hint == f"see {folder / 'agent.log'}"


def test_a_role_that_cannot_start_says_why(folder: Path, roles: list[RoleHandle]) -> None:
    with pytest.raises(WorkerError) as caught:
        ready(folder, roles, "cannot start")
    assert caught.value.code == "role-failed"
    assert caught.value.message == "the agent role failed: ValueError: last line"


@pytest.mark.parametrize("behaviour", ["never connects", "never ready"])
def test_a_role_that_is_not_ready_in_time_is_given_up(
    folder: Path, roles: list[RoleHandle], behaviour: str
) -> None:
    with pytest.raises(WorkerError, match="the agent role was not ready after 1 s") as caught:
        start(folder, roles, behaviour).wait_until_ready(1.0, threading.Event())
    assert caught.value.code == "role-late"


@pytest.mark.parametrize("behaviour", ["never connects", "never ready"])
def test_a_start_ends_when_the_user_stops_it(
    folder: Path, roles: list[RoleHandle], behaviour: str
) -> None:
    role, stop = start(folder, roles, behaviour), threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(InterruptedError, match="stopped while the roles were starting"):
        role.wait_until_ready(60, stop)
    assert time.monotonic() - began < 10


# -- calls -----------------------------------------------------------------------------------------


def test_a_command_may_be_sent_now_and_collected_later(
    folder: Path, roles: list[RoleHandle]
) -> None:
    role = ready(folder, roles)
    role.send("save", folder="/a")
    assert role.collect()["args"] == {"folder": "/a"}


def test_an_error_in_a_role_is_an_error_here_and_the_role_goes_on(
    folder: Path, roles: list[RoleHandle]
) -> None:
    role = ready(folder, roles)
    with pytest.raises(WorkerError) as caught:
        role.call("fail", type="RuntimeError", message="Traceback:\n  deep\nout of memory\n\n")
    assert caught.value.code == "no-memory"
    assert caught.value.message == "the agent role failed: RuntimeError: out of memory"
    assert str(caught.value.hint).startswith("take less: data.train_batch_size, ")
    assert role.call("load")["call"] == "load"


def test_an_error_without_words_is_still_a_sentence(folder: Path, roles: list[RoleHandle]) -> None:
    with pytest.raises(WorkerError, match="failed: KeyError: \\(no message\\)"):
        ready(folder, roles).call("fail", type="KeyError", message=" \n")


def test_a_role_that_dies_at_a_call_is_reported_with_its_last_words(
    folder: Path, roles: list[RoleHandle]
) -> None:
    with pytest.raises(WorkerError) as caught:
        ready(folder, roles).call("die", code=7)
    assert caught.value.code == "role-died"
    assert "exit code 7" in str(caught.value)
    assert str(caught.value).endswith("; its log ends with: so long")


def test_a_role_that_died_between_calls_is_reported_at_the_next(
    folder: Path, roles: list[RoleHandle]
) -> None:
    role = ready(folder, roles)
    os.kill(pid_of(role), signal.SIGKILL)
    assert role._process is not None
    role._process.wait(10)
    with pytest.raises(WorkerError, match="exit code -9") as caught:
        role.call("load")
    assert caught.value.code == "role-died"


def test_a_command_to_a_role_that_is_not_running_is_refused(folder: Path) -> None:
    role = RoleHandle("environment", folder, folder / "environment.log")
    with pytest.raises(WorkerError, match="the environment role is not running") as caught:
        role.call("load")
    assert caught.value.code == "role-not-running"


def test_a_death_without_a_log_is_reported_all_the_same(
    folder: Path, roles: list[RoleHandle]
) -> None:
    role = ready(folder, roles)
    (folder / "agent.log").unlink()
    with pytest.raises(WorkerError, match=r"its log ends with: \(no log\)$"):
        role.call("die", code=1)


# -- rollouts --------------------------------------------------------------------------------------


def test_a_rollout_is_waited_for(folder: Path, roles: list[RoleHandle]) -> None:
    result = ready(folder, roles).rollout(threading.Event(), prompts=[1], n=2)
    assert result["args"] == {"prompts": [1], "n": 2}


def test_a_stopped_rollout_is_cancelled_at_once_and_the_role_goes_on(
    folder: Path, roles: list[RoleHandle]
) -> None:
    role, stop = ready(folder, roles), threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(InterruptedError, match="stopped during the agent's rollout"):
        role.rollout(stop, slow=True)
    assert time.monotonic() - began < 10
    assert role.call("load")["call"] == "load"


def test_a_role_that_dies_as_its_rollout_is_cancelled_is_reported_as_dead(
    folder: Path, roles: list[RoleHandle], monkeypatch: pytest.MonkeyPatch
) -> None:
    role, stop = ready(folder, roles), threading.Event()

    def nothing_yet(*_: object) -> tuple[list, list, list]:
        # The moment between looking for an answer and sending "cancel".
        os.kill(pid_of(role), signal.SIGKILL)
        role._process.wait(10)  # type: ignore[union-attr]
        stop.set()
        return [], [], []

    monkeypatch.setattr(handle.select, "select", nothing_yet)
    with pytest.raises(WorkerError) as caught:
        role.rollout(stop, slow=True)
    assert caught.value.code == "role-died"


# -- stopping --------------------------------------------------------------------------------------


def test_a_role_is_asked_to_end(folder: Path, roles: list[RoleHandle]) -> None:
    role = ready(folder, roles)
    role.stop()
    assert role._process is not None and role._process.returncode == 0
    role.stop()


def test_a_role_that_does_not_end_is_ended(
    folder: Path, roles: list[RoleHandle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "_STOP_SECONDS", 0.3)
    role = ready(folder, roles, "deaf to stop")
    role.stop()
    assert role._process is not None and role._process.returncode == -signal.SIGKILL


def test_a_role_that_never_started_or_died_can_be_stopped(
    folder: Path, roles: list[RoleHandle]
) -> None:
    RoleHandle("agent", folder, folder / "agent.log").stop()
    role = ready(folder, roles)
    os.kill(pid_of(role), signal.SIGKILL)
    role.stop()
    assert not psutil.pid_exists(pid_of(role))


# -- the driver's end ------------------------------------------------------------------------------


class StandInTrainer:
    """Answers the driver's calls."""

    def __init__(self) -> None:
        self.is_cancelled: Any = None
        self.saw_cancel: list[bool] = []

    def save(self, folder: str) -> str:
        return f"saved to {folder}"

    def load(self, folder: str, step: int) -> None:
        raise ValueError("")

    def rollout(self, prompts: list[Any]) -> dict[str, Any] | None:
        deadline = time.monotonic() + 10
        while not self.is_cancelled() and time.monotonic() < deadline:
            time.sleep(0.01)
        return None


@pytest.fixture
def served() -> Iterator[tuple[Channel, threading.Thread]]:
    """The loop's end of a served channel, and the thread that serves it."""
    near, far = socket.socketpair()
    near.settimeout(10)
    thread = threading.Thread(target=driver._serve, args=(Channel(far), StandInTrainer()))
    thread.start()
    yield Channel(near), thread
    near.close()
    thread.join(10)
    far.close()


Served = tuple[Channel, threading.Thread]


def ask(channel: Channel, call: str, **args: Any) -> dict[str, Any]:
    channel.send({"call": call, "args": args})
    return channel.receive()


def test_the_driver_answers_with_what_the_trainer_returns(served: Served) -> None:
    assert ask(served[0], "save", folder="/x") == {"result": "saved to /x"}


def test_the_driver_answers_an_exception_with_its_type_and_goes_on(served: Served) -> None:
    error = ask(served[0], "load", folder="/x", step=1)["error"]
    # An exception without words is known by its name.
    assert (error["type"], error["message"]) == ("ValueError", "ValueError")
    assert "test_handle.py" in error["traceback"]
    assert ask(served[0], "save", folder="/x") == {"result": "saved to /x"}


@pytest.mark.parametrize("call", ["start", "__init__", "is_cancelled"])
def test_the_driver_refuses_calls_that_are_not_on_its_list(served: Served, call: str) -> None:
    error = ask(served[0], call)["error"]
    assert error["message"].startswith(f"unknown call '{call}'; known: rollout, update, ")


def test_the_driver_refuses_arguments_that_a_call_does_not_have(served: Served) -> None:
    assert ask(served[0], "save", fold="/x")["error"]["type"] == "TypeError"


def test_a_cancel_ends_the_rollout_and_one_that_is_late_is_passed_over(served: Served) -> None:
    channel = served[0]
    channel.send({"call": "rollout", "args": {"prompts": []}})
    channel.send({"call": "cancel"})
    assert channel.receive() == {"result": None}
    channel.send({"call": "cancel"})
    assert ask(channel, "save", folder="/x") == {"result": "saved to /x"}


@pytest.mark.parametrize("polite", [True, False])
def test_the_driver_ends_when_the_loop_says_so_or_is_gone(served: Served, polite: bool) -> None:
    channel, thread = served
    if polite:
        channel.send({"call": "stop"})
    else:
        channel.close()
    thread.join(10)
    assert not thread.is_alive()


# -- a death elsewhere -----------------------------------------------------------------------------


def test_a_failure_is_explained_by_a_death_elsewhere(folder: Path, roles: list[RoleHandle]) -> None:
    death = WorkerError("Ray's raylet (process 7) died", code="worker-died")
    seen: list[WorkerError] = []
    role = RoleHandle("agent", folder, folder / "agent.log", lambda: seen[0] if seen else None)
    roles.append(role)
    role.start({"behaviour": "deaf to stop"}, str(folder / "python"), ENVIRONMENT)
    role.wait_until_ready(30, threading.Event())
    seen.append(death)
    with pytest.raises(WorkerError, match="raylet"):
        role.call("fail", type="ActorDiedError", message="the actor died")
    # As the watch does while the loop waits for an answer.
    threading.Timer(0.2, role.give_up).start()
    with pytest.raises(WorkerError, match="raylet"):
        role.rollout(threading.Event(), slow=True)
    started = time.monotonic()
    role.stop()
    assert time.monotonic() - started < 4, "it waited for a driver that can't end by itself"


def test_a_rollout_without_rows_is_explained_by_a_death_elsewhere(
    folder: Path, roles: list[RoleHandle]
) -> None:
    death = WorkerError("vLLM's engine (process 7) died", code="worker-died")
    looks = iter([None, None, death])
    role = RoleHandle("agent", folder, folder / "agent.log", lambda: next(looks, None))
    roles.append(role)
    role.start({"behaviour": ""}, str(folder / "python"), ENVIRONMENT)
    role.wait_until_ready(30, threading.Event())
    looks = iter([None, None, death])
    # Some rows came back: that is for the loop to judge.
    role.rollout(threading.Event(), rows=[1], failed=[2])
    with pytest.raises(WorkerError, match="vLLM's engine"):
        role.rollout(threading.Event(), rows=[], failed=[1, 2])
    # Nobody died: the loop is told what failed.
    assert role.rollout(threading.Event(), rows=[], failed=[1])["failed"] == [1]


def test_a_start_ends_with_a_death_elsewhere(folder: Path, roles: list[RoleHandle]) -> None:
    death = WorkerError("the fork server (process 7) died", code="worker-died")
    role = RoleHandle("agent", folder, folder / "agent.log", lambda: death)
    roles.append(role)
    role.start({"behaviour": "never connects"}, str(folder / "python"), ENVIRONMENT)
    with pytest.raises(WorkerError, match="fork server"):
        role.wait_until_ready(30, threading.Event())
