"""What the ends of a driver process share: the point of a crash, its exit code, and its end."""

import contextlib
import re
import subprocess
from pathlib import Path
from typing import Any

from genenv.errors import WorkerError

_LONGEST = 300
_LAST_LINES = 400
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# What Ray, and vLLM's processes, put before each line of a worker's output.
_PREFIX = re.compile(r"^(?:\([\w:.]*\s*pid=\d+[^)]*\)|\(\w+ pid=\d+\))\s?")
_LOGGED = re.compile(r"^(?:ERROR|CRITICAL) \S+ [\d:.,]+ \[[^\]]*\] ")
_EXCEPTION = re.compile(r"^[\w.]*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:\(\w+\))?: \S")
# These only say that another error, further up, ended the work.
_WRAPPERS = re.compile(
    r"RayTaskError|ActorDiedError|RayActorError|EngineDeadError|ChildFailedError|CalledProcessError"
    r"|Engine core initialization failed|Engine process failed|worker died|SystemExit"
)
_FRAME = re.compile(
    r'^\s*(?:File ".*", line \d+|Traceback \(most recent|[\^~]+\s*$|During handling)'
)
_MEMORY = re.compile(
    r"out of memory|Cannot allocate memory|can't allocate memory|std::bad_alloc|\bMemoryError\b"
    r"|No available memory for the cache|less than desired GPU memory|not enough memory",
    re.IGNORECASE,
)


def point_of(text: str) -> str:
    """The line of a log or of a long error message that says what went wrong.

    The last exception with a message that isn't only about another one; else the last such; else
    the last line that is no frame of a traceback. "(no message)" where there is none.
    """
    lines = [_plain(line) for line in text.splitlines()[-_LAST_LINES:]]
    lines = [line for line in lines if line.strip()]
    errors = [line.strip() for line in lines if _EXCEPTION.match(line.strip())]
    causes = [line for line in errors if not _WRAPPERS.search(line)]
    words = [line.strip() for line in lines if not _FRAME.match(line)]
    for found in (causes, errors, words):
        if found:
            return found[-1][:_LONGEST]
    return "(no message)"


def _plain(line: str) -> str:
    return _LOGGED.sub("", _PREFIX.sub("", _COLOURS.sub("", line)))


def last_words(log_file: Path) -> str:
    """The point of a process's log."""
    with contextlib.suppress(OSError):
        return point_of(log_file.read_text(errors="replace"))
    return "(no log)"


def error_in_ray_logs(pid: int, folder: Path) -> str | None:
    """The last exception that a worker of Ray's, or a process below one, wrote of itself."""
    for file in sorted(folder.glob("worker-*")):
        text = file.read_text(errors="replace")
        if not file.stem.endswith(f"-{pid}"):
            text = "\n".join(line for line in text.splitlines() if f" pid={pid})" in line)
        point = point_of(text)
        if _EXCEPTION.match(point):
            return point
    return None


def died(who: str, code: str, process: subprocess.Popen[bytes], log_file: Path) -> WorkerError:
    """What to say of a process that ended unasked: how, and the point of its log."""
    status = exit_code(process)
    killed = " (the system does that when memory runs out)" if status in (-9, 137) else ""
    words = last_words(log_file)
    return WorkerError(
        f"{who} process ended with exit code {status}{killed}; its log ends with: {words}",
        code="no-memory" if _MEMORY.search(words) else code,
        hint=_hint(words, log_file),
    )


def failed(what: str, code: str, failure: dict[str, Any], log_file: Path) -> WorkerError:
    """What to say of an error that a process has told of itself."""
    point = point_of(failure["message"])
    kind = failure["type"]
    # An error of Ray's carries the worker's whole traceback, and the worker's own type with it.
    words = point if _EXCEPTION.match(point) else f"{kind}: {point}"
    return WorkerError(
        f"{what}: {words}",
        code="no-memory" if _MEMORY.search(words) else code,
        hint=_hint(words, log_file),
    )


def _hint(words: str, log_file: Path) -> str:
    if not _MEMORY.search(words):
        return f"see {log_file}"
    return (
        "take less: data.train_batch_size, actor_rollout_ref.rollout.n, the lengths, "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu or the model; on a GPU also "
        f"actor_rollout_ref.rollout.gpu_memory_utilization; see {log_file}"
    )


def exit_code(process: subprocess.Popen[bytes]) -> int | str:
    """The exit code of a process that is on its way out, or a word for not knowing it after 2 s."""
    try:
        return process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        return "not known yet"


def end(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """Wait for a process that was asked to end, and kill it where it takes over ``grace_s``."""
    try:
        process.wait(timeout=grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
