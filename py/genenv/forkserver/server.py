"""The fork server: ``python -m genenv.forkserver.server SOCKET PARENT_PID MODULE...``.

Protocol, one connection a process, so that the client can wait for its exit:

- client: u64 big-endian size + file descriptors (SCM_RIGHTS), then that many bytes of JSON
  ``{"argv", "env", "cwd", "fds"}``;
- server: u64 pid, and when the child ends, u64 exit code.
"""

import array
import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import sys
import threading
import time
import traceback
import types
from pathlib import Path

from genenv.process import die_with_parent

# Everything slow that Ray's workers, veRL's actors and vLLM's engine import.
PRELOAD = (
    "torch",
    "torch._dynamo",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "transformers",
    "transformers.models.auto.modeling_auto",
    "transformers.models.llama.modeling_llama",
    "transformers.models.qwen3.modeling_qwen3",
    "tensordict",
    "pandas",
    "pyarrow",
    "omegaconf",
    "hydra",
    "vllm",
    "vllm.v1.engine.async_llm",
    "vllm.v1.engine.core",
    "vllm.entrypoints.openai.api_server",
    "vllm.v1.worker.cpu_worker",
    "vllm.model_executor.models.llama",
    "vllm.model_executor.models.qwen3",
    "vllm.lora.request",
    "peft",
    "torchdata.stateful_dataloader",
    "datasets",
)
_HIGH_FD = 500
_EXIT_SIGNAL_BASE = 128
_FLAGS_WITH_VALUE = ("-X", "-W")
_TITLE_LENGTH = 200


def main(path: str, parent: int, modules: list[str]) -> None:
    die_with_parent(parent)
    started = time.monotonic()
    preload(modules)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The path appears when it can be connected to.
    listener.bind(f"{path}.new")
    listener.listen(64)
    Path(f"{path}.new").rename(path)
    # Forked children share these pages until a collection would write to them.
    gc.collect()
    gc.freeze()
    print(f"fork server ready after {time.monotonic() - started:.1f} s", flush=True)
    _Server(listener).run()


def preload(modules: list[str]) -> None:
    """Import ``modules`` with Ray hidden: one imported before the fork can't reach its cluster."""
    sys.modules["ray"] = None  # type: ignore[assignment]
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception as error:
            # A module that moved makes the start slower, not wrong: children import it themselves.
            print(f"preload {name}: {error!r}"[:300], flush=True)
    del sys.modules["ray"]
    for name in [m for m in sys.modules if m.endswith(".ray_utils")]:
        del sys.modules[name]


class _Server:
    """Accepts requests and reaps children; one thread, since a fork copies only the calling one."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._pid = os.getpid()
        self._children: dict[int, socket.socket] = {}
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        while True:
            watched = [self._listener, self._wake_read, *self._children.values()]
            ready, _, _ = select.select(watched, [], [])
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
                self._reap()
            for pid in [p for p, client in self._children.items() if client in ready]:
                self._abandon(pid)
            if self._listener in ready:
                self._accept()

    def _abandon(self, pid: int) -> None:
        """A client never writes again: readable means that it died, so its child goes too."""
        self._children.pop(pid).close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            client = self._children.pop(pid, None)
            if client is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                code = _EXIT_SIGNAL_BASE - code
            with contextlib.suppress(OSError):  # the client may have been killed before its child
                client.sendall(code.to_bytes(8, "big"))
            client.close()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            request, fds = _receive(client)
        except (OSError, ValueError, EOFError) as error:
            print(f"fork server: bad request: {error!r}", flush=True)
            client.close()
            return
        pid = os.fork()
        if pid == 0:
            os._exit(self._child(request, fds, client))
        for fd in fds:
            os.close(fd)
        self._children[pid] = client
        with contextlib.suppress(OSError):  # a client that died already is found by `run`
            client.sendall(pid.to_bytes(8, "big"))

    def _child(self, request: dict, fds: list[int], client: socket.socket) -> int:
        try:
            die_with_parent(self._pid)
            self._forget_server(client)
            _set_title(request["argv"])
            _place_descriptors(fds, request["fds"])
            _adopt(request)
            _run(request["argv"])
            return 0
        except SystemExit as stop:
            if stop.code is None or isinstance(stop.code, int):
                return stop.code or 0
            print(stop.code, file=sys.stderr)
            return 1
        except BaseException:
            traceback.print_exc()
            return 1
        finally:
            _finish_like_an_interpreter()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # a closed pipe must not hide the exit code
                    stream.flush()

    def _forget_server(self, client: socket.socket) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._listener.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
        for other in self._children.values():
            other.close()
        client.close()


def _set_title(argv: list[str]) -> None:
    """What `ps` shows: what runs here rather than this server; vLLM's engine adds its own name.

    The library finds the place of the title by the environment, so this must come before another
    takes its place. Ray brings a library of its own, for its workers, that would not work after.
    """
    if argv[:1] in (["-c"], ["-m"]):
        with contextlib.suppress(ImportError):
            import setproctitle

            setproctitle.setproctitle(f"genenv: python {' '.join(argv)[:_TITLE_LENGTH]}")


def _finish_like_an_interpreter() -> None:
    """Wait for threads and run exit handlers: multiprocessing unlinks its semaphores in one."""
    with contextlib.suppress(Exception):  # a handler's fault must not change the exit code
        threading._shutdown()
    atexit._run_exitfuncs()


def _receive(client: socket.socket) -> tuple[dict, list[int]]:
    header, ancillary, _, _ = client.recvmsg(8, socket.CMSG_LEN(4 * 253))
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    size = int.from_bytes(header, "big")
    body = bytearray()
    while len(body) < size:
        part = client.recv(size - len(body))
        if not part:
            raise EOFError("the client went away")
        body += part
    return json.loads(body), list(fds)


def _place_descriptors(received: list[int], wanted: list[int]) -> None:
    """Put the received files at the numbers they had in the client."""
    # By way of high numbers, so that none overwrites another.
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, _HIGH_FD) for fd in received]
    for fd in received:
        os.close(fd)
    for fd, number in zip(high, wanted, strict=True):
        os.dup2(fd, number)
        os.close(fd)


def _adopt(request: dict) -> None:
    """Take over the client's environment, folder and streams."""
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    with contextlib.suppress(OSError):  # already a group leader
        os.setpgid(0, 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    for folder in reversed(request["env"].get("PYTHONPATH", "").split(os.pathsep)):
        if folder and folder not in sys.path:
            sys.path.insert(1, folder)


def _run(argv: list[str]) -> None:
    """Do what ``python ARGV`` would: ``-c CODE``, ``-m MODULE`` or a script, without its flags."""
    while argv and argv[0].startswith("-") and argv[0] not in ("-c", "-m"):
        argv = argv[2 if argv[0] in _FLAGS_WITH_VALUE else 1 :]
    if not argv:
        raise SystemExit("fork server: an interactive Python was asked for")
    if argv[0] == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *argv[2:]]
        main_module = types.ModuleType("__main__")
        main_module.__builtins__ = __builtins__
        sys.modules["__main__"] = main_module
        exec(compile(argv[1], "<string>", "exec"), main_module.__dict__)
    elif argv[0] == "-m":
        sys.path[0] = str(Path.cwd())
        sys.argv = argv[1:]
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = argv
        sys.path[0] = str(Path(argv[0]).resolve().parent)
        runpy.run_path(argv[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
