"""What belongs to a run's private folder, and how it goes away; on real processes and segments."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import shared_memory
from pathlib import Path

import pytest
from genenv import private_folder, reaper

PACKAGES = str(Path(__file__).parents[2] / "py")
# Says that it is up, then waits for ever.
WAIT = "import sys, time; print('up', flush=True); time.sleep(600)"


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(code: str = WAIT, **options: object) -> subprocess.Popen[str]:
        given = {"stdout": subprocess.PIPE, "text": True} | options
        process = subprocess.Popen([sys.executable, "-S", "-c", code], **given)  # type: ignore[call-overload]
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def make_folder(parent: Path, owner: dict[str, object]) -> Path:
    folder = parent / "genenv-abc"
    folder.mkdir()
    (folder / private_folder.OWNER_FILE).write_text(json.dumps(owner))
    return folder


def owned_by(pid: int, **other: object) -> dict[str, object]:
    start = private_folder.start_of(pid)
    return {"pid": pid, "processStart": start, "host": socket.gethostname()} | other


def a_dead_owner() -> dict[str, object]:
    return owned_by(os.getpid(), processStart=1)


def eventually(holds: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not (done := holds()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return done


# -- what belongs to a folder ----------------------------------------------------------------------


def test_a_process_belongs_to_the_folder_that_its_environment_names(
    tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]]
) -> None:
    ours = spawn(env={private_folder.VARIABLE: str(tmp_path)})
    spawn(env={private_folder.VARIABLE: f"{tmp_path}-other"})
    assert private_folder.processes_of(tmp_path) == [ours.pid]


def test_a_process_belongs_to_the_folder_that_it_has_a_file_of(
    tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]]
) -> None:
    (tmp_path / "log").touch()
    with (tmp_path / "log").open("a") as log:
        ours = spawn(env={}, stderr=log)
        # This process has it open too, and is not meant.
        assert private_folder.processes_of(tmp_path) == [ours.pid]


def test_ending_a_folder_kills_its_processes_and_unlinks_what_they_had_mapped(
    tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]]
) -> None:
    kept = shared_memory.SharedMemory(create=True, size=64)
    lost = shared_memory.SharedMemory(create=True, size=64)
    code = f"""
import mmap, os
for name in ("{kept.name}", "{lost.name}"):
    fd = os.open("/dev/shm/" + name, os.O_RDWR)
    globals()[name] = mmap.mmap(fd, 64)
{WAIT}"""
    lost.close()
    ours = spawn(code, env={private_folder.VARIABLE: str(tmp_path)})
    private_folder.end_processes(tmp_path)
    assert ours.wait(timeout=10) == -9
    assert not Path("/dev/shm", lost.name).exists()
    # This process, which doesn't belong to the folder, still works with it.
    assert Path("/dev/shm", kept.name).exists()
    kept.close()
    kept.unlink()


def test_a_folder_without_processes_ends_at_once(tmp_path: Path) -> None:
    private_folder.end_processes(tmp_path)
    assert tmp_path.exists()


# -- folders that nobody removed -------------------------------------------------------------------


def test_a_sweep_removes_the_folder_of_a_dead_owner_and_what_runs_in_it(
    tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]]
) -> None:
    folder = make_folder(tmp_path, a_dead_owner())
    left = spawn(env={private_folder.VARIABLE: str(folder)})
    private_folder.sweep(tmp_path)
    assert not folder.exists()
    assert left.wait(timeout=10) == -9


def test_a_sweep_takes_veRLs_segments_of_a_dead_run_and_leaves_those_in_use(tmp_path: Path) -> None:
    make_folder(tmp_path, a_dead_owner())
    abandoned = Path("/dev/shm/verl_weights_genenv_test")
    abandoned.write_bytes(b"x")
    used = shared_memory.SharedMemory(name="verl_weights_genenv_used", create=True, size=64)
    private_folder.sweep(tmp_path)
    assert not abandoned.exists()
    assert Path("/dev/shm", used.name).exists()
    used.close()
    used.unlink()


def test_a_sweep_takes_a_dead_hook_hosts_segments_and_leaves_a_living_ones(tmp_path: Path) -> None:
    make_folder(tmp_path, a_dead_owner())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dead = Path(f"/dev/shm/genenv-{gone.pid}-test")
    living = Path(f"/dev/shm/genenv-{os.getpid()}-test")
    try:
        for path in (dead, living):
            path.write_bytes(b"x")
        private_folder.sweep(tmp_path)
        assert not dead.exists()
        assert living.exists()
    finally:
        for path in (dead, living):
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("owner", [{}, {"host": "another machine", "processStart": 1}])
def test_a_sweep_leaves_the_folder_of_an_owner_that_lives_or_cannot_be_asked(
    tmp_path: Path, owner: dict[str, object]
) -> None:
    folder = make_folder(tmp_path, owned_by(os.getpid()) | owner)
    private_folder.sweep(tmp_path)
    assert folder.exists()


def test_a_sweep_leaves_a_folder_that_another_sees_to_and_one_without_an_owner(
    tmp_path: Path,
) -> None:
    folder = make_folder(tmp_path, a_dead_owner())
    (tmp_path / "genenv-theirs").mkdir()
    with (folder / private_folder.OWNER_FILE).open() as owner:
        assert private_folder.hold(owner)
        private_folder.sweep(tmp_path)
    assert folder.exists()
    assert (tmp_path / "genenv-theirs").exists()


def test_a_torn_owner_file_counts_as_a_dead_owners(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, {})
    (folder / private_folder.OWNER_FILE).write_text('{"pid": 1')
    private_folder.sweep(tmp_path)
    assert not folder.exists()


# -- the reaper ------------------------------------------------------------------------------------


class Line:
    """A reaper, and the end of its line that Node would hold."""

    def __init__(self, folder: Path, control: int) -> None:
        self._own, theirs = socket.socketpair()
        # The descriptor that Node gives it: a shell moves it there.
        command = f'exec "$0" -S -m genenv.reaper {folder} {control} 3<&{theirs.fileno()}'
        self.process = subprocess.run(
            ["bash", "-c", command, sys.executable],
            env={"PYTHONPATH": PACKAGES},
            pass_fds=[theirs.fileno()],
            timeout=30,
            check=True,
        )
        theirs.close()

    def close(self) -> None:
        self._own.close()


def test_the_reaper_waits_for_node_then_for_python_and_then_clears_up(
    tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]]
) -> None:
    folder = make_folder(tmp_path, owned_by(os.getpid()))
    control = spawn(env={private_folder.VARIABLE: str(folder)})
    stray = spawn(env={private_folder.VARIABLE: str(folder)})
    line = Line(folder, control.pid)
    time.sleep(0.3)
    assert (control.poll(), stray.poll()) == (None, None)
    line.close()
    time.sleep(0.3)
    # Node is gone, and Python is ending in good order.
    assert (control.poll(), stray.poll()) == (None, None)
    control.kill()
    control.wait()
    assert stray.wait(timeout=10) == -9
    assert eventually(lambda: not folder.exists())


def test_the_reaper_does_not_wait_for_a_python_that_takes_too_long(
    tmp_path: Path,
    spawn: Callable[..., subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = make_folder(tmp_path, owned_by(os.getpid()))
    stuck = spawn(env={private_folder.VARIABLE: str(folder)})
    own, theirs = os.pipe()
    os.close(theirs)
    monkeypatch.setattr(reaper, "_LINE", own)
    monkeypatch.setattr(reaper, "_GRACE_SECONDS", 0.1)
    monkeypatch.setattr(os, "fork", lambda: 0)
    reaper.main(folder, stuck.pid)
    assert stuck.wait(timeout=10) == -9
    assert not folder.exists()


def test_the_reaper_of_a_folder_that_is_gone_ends_at_once(tmp_path: Path) -> None:
    line = Line(tmp_path / "genenv-gone", os.getpid())
    assert line.process.returncode == 0
    line.close()
