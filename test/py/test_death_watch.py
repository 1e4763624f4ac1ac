"""The watch over a run's processes, on ones that bear the names of Ray's, vLLM's and veRL's."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from genenv.loop.death_watch import DeathWatch, descendants

Spawn = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    started: list[subprocess.Popen[str]] = []

    def start(title: str) -> subprocess.Popen[str]:
        code = f"""
import setproctitle, time
setproctitle.setproctitle({title!r})
print("up", flush=True)
time.sleep(600)
"""
        process = subprocess.Popen(
            [sys.executable, "-c", code, "x" * 100], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process

    yield start
    for process in started:
        kill(process)


@pytest.fixture
def watch() -> Iterator[Callable[..., DeathWatch]]:
    started: list[DeathWatch] = []

    def start(
        fork_server: int | None = None,
        on_death: Callable[[], None] = lambda: None,
        ray_logs: Path | None = None,
    ) -> DeathWatch:
        started.append(DeathWatch(fork_server, ray_logs, "look here", on_death))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("/opt/ray/raylet/raylet", "Ray's raylet"),
        ("/opt/ray/gcs/gcs_server", "Ray's gcs_server"),
        ("VLLM::EngineCore", "vLLM's engine"),
        ("ray::WorkerDict.actor_update", "veRL's trainer (WorkerDict)"),
        ("ray::vLLMHttpServer", "vLLM's server (vLLMHttpServer)"),
        ("ray::AgentLoopWorkerTQ", "veRL's agent loop (AgentLoopWorkerTQ)"),
    ],
)
def test_a_death_is_named(
    spawn: Spawn, watch: Callable[..., DeathWatch], title: str, name: str
) -> None:
    told = threading.Event()
    watched = watch(on_death=told.set)
    process = spawn(title)
    assert watched.cause() is None
    kill(process)
    assert told.wait(10)
    error = watched.cause()
    assert error is not None
    assert str(error) == f"{name} (process {process.pid}) died"
    assert (error.code, error.hint) == ("worker-died", "look here")


def test_a_death_is_explained_by_the_last_error_in_the_process_own_log(
    spawn: Spawn, watch: Callable[..., DeathWatch], tmp_path: Path
) -> None:
    watched = watch(ray_logs=tmp_path)
    process = spawn("VLLM::EngineCore")
    assert watched.cause() is None
    # vLLM's engine writes where its server does, beside others.
    mine = f"(EngineCore pid={process.pid}) ERROR 11-30 19:58:50 [core.py:1510] "
    (tmp_path / "worker-ab-02-7.out").write_text(
        f"{mine}Traceback (most recent call last):\n"
        f'{mine}  File "core.py", line 1, in start\n'
        f"{mine}ValueError: the model's max seq len needs 2 GiB\n"
        "(EngineCore pid=1) ERROR 11-30 19:58:51 [core.py:9] KeyError: another's\n"
    )
    kill(process)
    told = str(watched.cause())
    assert told.endswith(
        "died; the last error in its log: ValueError: the model's max seq len needs 2 GiB"
    )


def test_the_fork_server_is_known_by_its_pid_and_explains_the_most(
    spawn: Spawn, watch: Callable[..., DeathWatch]
) -> None:
    server, engine = spawn("whatever"), spawn("VLLM::EngineCore")
    watched = watch(fork_server=server.pid)
    assert watched.cause() is None
    # Both are gone before the watch looks again.
    with watched._looking:
        kill(engine)
        kill(server)
    assert "the fork server" in str(watched.cause())


@pytest.mark.parametrize("title", ["ray::IDLE", "ray::some_task", "ray::DashboardAgent", "python"])
def test_what_comes_and_goes_is_not_watched(
    spawn: Spawn, watch: Callable[..., DeathWatch], title: str
) -> None:
    watched = watch()
    process = spawn(title)
    assert watched.cause() is None
    kill(process)
    assert watched.cause() is None


def test_a_stopped_watch_sees_no_death(spawn: Spawn, watch: Callable[..., DeathWatch]) -> None:
    watched = watch()
    process = spawn("VLLM::EngineCore")
    assert watched.cause() is None
    watched.stop()
    kill(process)
    assert watched.cause() is None


def test_a_process_has_the_descendants_of_its_children(spawn: Spawn) -> None:
    child = spawn("child")
    assert child.pid in descendants(1)
    assert descendants(child.pid) == []
