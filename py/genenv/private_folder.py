"""A run's private folder: which processes belong to it, and how all of it goes away.

Node makes the folder (``genenv-...`` in the temporary folder), writes into it who it is, and gives
its path to every process below it. Standard library only, and Linux's /proc.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

VARIABLE = "GENENV_FOLDER"
OWNER_FILE = "owner.json"
_PREFIX = "genenv-"
_SHARED_MEMORY = Path("/dev/shm")
# What veRL and multiprocessing name so, under a name that no folder can hold.
_SHARED_NAMES = ("verl_weights_", "sem.mp-")
_GONE_SECONDS = 5.0


def processes_of(folder: Path) -> list[int]:
    """The processes that belong to a folder, but for this one.

    A process belongs to it if its environment names it, or if it holds a file in it open: a process
    that gives itself a title (Ray's and vLLM's do) may lose its environment from /proc.
    """
    return [pid for pid in _pids() if pid != os.getpid() and _belongs(pid, folder)]


def end_processes(folder: Path) -> None:
    """Kill what belongs to the folder, and what of its shared memory nobody would remove."""
    segments: set[Path] = set()
    deadline = time.monotonic() + _GONE_SECONDS
    while (pids := processes_of(folder)) and time.monotonic() < deadline:
        for pid in pids:
            segments |= _mapped_segments(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for segment in segments - _all_mapped_segments():
        segment.unlink(missing_ok=True)


def remove(folder: Path, owner: IO[str]) -> None:
    """End everything of the folder, then remove it; its owner file may be gone, but is open."""
    end_processes(folder)
    _remove_abandoned_segments(os.fstat(owner.fileno()).st_mtime)
    shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove the folders in ``parent`` whose Node was killed, and what was left running of them."""
    for file in parent.glob(f"{_PREFIX}*/{OWNER_FILE}"):
        with contextlib.suppress(OSError), file.open() as owner:
            if file.parent.stat().st_uid == os.getuid() and hold(owner) and not _lives(owner):
                remove(file.parent, owner)


def hold(owner: IO[str]) -> bool:
    """Take an owner file for this process, as long as it is open; False where another has it."""
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def start_of(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None for one that is gone or a zombie."""
    try:
        # The name, in parentheses, may hold spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _lives(owner: IO[str]) -> bool:
    """Whether the Node that made a folder still runs; another machine's can't be asked."""
    try:
        told = json.load(owner)
        host, pid, start = told["host"], int(told["pid"]), told["processStart"]
    except (ValueError, KeyError, TypeError):
        return False
    if host != socket.gethostname():
        return True
    now = start_of(pid)
    return now is not None and start in (None, now)


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())


def _belongs(pid: int, folder: Path) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if f"{VARIABLE}={folder}".encode() in environment:
            return start_of(pid) is not None
        return any(_is_below(link, folder) for link in _links(pid))
    except OSError:  # it has just ended, or is another user's
        return False


def _is_below(path: str, folder: Path) -> bool:
    return path.startswith(f"{folder}/")


def _links(pid: int) -> Iterator[str]:
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):  # closed meanwhile
            yield os.readlink(entry.path)  # noqa: PTH115


def _mapped_segments(pid: int) -> set[Path]:
    """Files in /dev/shm that a process has mapped and that still have a name."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return set()
    paths = (line.split(maxsplit=5)[-1] for line in lines if f" {_SHARED_MEMORY}/" in line)
    return {Path(path) for path in paths if not path.endswith(" (deleted)")}


def _all_mapped_segments() -> set[Path]:
    found: set[Path] = set()
    for pid in _pids():
        found |= _mapped_segments(pid)
    return found


def _remove_abandoned_segments(since: float) -> None:
    """Remove what a killed run may have left: a dead hook host's, or veRL's that nobody maps."""
    for path in _segments(["genenv-"]):
        # bridge/hooks/mapped-file.ts: genenv-PID-RANDOM, held open by its host and not mapped.
        pid = path.name.split("-")[1]
        if pid.isdigit() and start_of(int(pid)) is None and _is_ours(path, since):
            path.unlink(missing_ok=True)
    candidates = [path for path in _segments(_SHARED_NAMES) if _is_ours(path, since)]
    if not candidates:
        return
    mapped = _all_mapped_segments()
    for path in candidates:
        if path not in mapped:
            path.unlink(missing_ok=True)


def _segments(prefixes: Iterable[str]) -> list[Path]:
    if not _SHARED_MEMORY.is_dir():
        return []
    return [p for p in _SHARED_MEMORY.iterdir() if p.name.startswith(tuple(prefixes))]


def _is_ours(path: Path, since: float) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and status.st_ctime >= since
