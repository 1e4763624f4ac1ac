"""A real fork server, with next to nothing preloaded: what it forks behaves like ``python``."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from genenv.errors import WorkerError
from genenv.forkserver import client
from genenv.forkserver.start import ForkServer

CLIENT = client.__file__
PACKAGES = str(Path(__file__).parents[2] / "py")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    folder = tmp_path_factory.mktemp("fork")
    with started(folder) as running:
        yield running


class started:
    """A fork server with little preloaded, ended with the block."""

    def __init__(self, folder: Path, modules: tuple[str, ...] = ("json", "numpy.random")) -> None:
        self.log = folder / "server.log"
        self._server = ForkServer(folder, dict(os.environ, PYTHONPATH=PACKAGES), self.log, modules)

    def __enter__(self) -> ForkServer:
        self._server.wait_until_ready(60)
        return self._server

    def __exit__(self, *_: object) -> None:
        self._server.stop()


def start(server: ForkServer, *argv: str, **options: object) -> subprocess.Popen[str]:
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([str(server.executable), *argv], **given)  # type: ignore[call-overload]


def run(server: ForkServer, *argv: str, **options: object) -> tuple[int, str, str]:
    """Exit code, output and error output."""
    process = start(server, *argv, **options)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


# -- what can be run -------------------------------------------------------------------------------


def test_code_is_run_with_its_arguments(server: ForkServer) -> None:
    code = "x = 4; import sys, __main__; print(sys.argv, __name__, __main__.x)"
    assert run(server, "-c", code, "a", "-b") == (0, "['-c', 'a', '-b'] __main__ 4\n", "")


def test_a_module_is_run_from_the_current_folder(server: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys; print(__name__, sys.argv[1:], __file__)")
    code, out, err = run(server, "-m", "mine", "x", cwd=tmp_path)
    assert (code, out, err) == (0, f"__main__ ['x'] {tmp_path}/mine.py\n", "")


def test_a_script_is_run_beside_the_modules_of_its_folder(
    server: ForkServer, tmp_path: Path
) -> None:
    (tmp_path / "beside.py").write_text("value = 5")
    (tmp_path / "script.py").write_text("import sys, beside; print(beside.value, sys.argv)")
    script = str(tmp_path / "script.py")
    assert run(server, script, "x", cwd="/") == (0, f"5 ['{script}', 'x']\n", "")


@pytest.mark.parametrize("flags", [["-u"], ["-E", "-s"], ["-X", "utf8"], ["-W", "ignore", "-u"]])
def test_the_interpreters_own_flags_are_passed_over(server: ForkServer, flags: list[str]) -> None:
    assert run(server, *flags, "-c", "print(1)")[:2] == (0, "1\n")


def test_an_interactive_python_is_refused(server: ForkServer) -> None:
    code, out, err = run(server)
    assert (code, out) == (1, "")
    assert err == "fork server: an interactive Python was asked for\n"


def test_what_is_preloaded_is_there_at_once_and_ray_is_not(server: ForkServer) -> None:
    code = "import sys; print('json' in sys.modules, 'ray' in sys.modules)"
    assert run(server, "-c", code)[1] == "True False\n"


# -- exit codes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("pass", 0),
        ("import sys; sys.exit()", 0),
        ("import sys; sys.exit(7)", 7),
        ("import os; os._exit(9)", 9),
        ("import sys; sys.exit(True)", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + 9),
        ("import os; os.abort()", 128 + 6),
    ],
)
def test_the_exit_code_is_the_childs(server: ForkServer, code: str, expected: int) -> None:
    assert run(server, "-c", code)[0] == expected


def test_an_exception_is_printed_and_ends_with_one(server: ForkServer) -> None:
    code, out, err = run(server, "-c", "print('before'); raise ValueError('no')")
    assert (code, out) == (1, "before\n")
    assert "Traceback" in err and err.endswith("ValueError: no\n")


def test_an_exit_with_a_message_prints_it(server: ForkServer) -> None:
    assert run(server, "-c", "import sys; sys.exit('why')") == (1, "", "why\n")


def test_a_script_that_is_not_there_fails(server: ForkServer) -> None:
    code, _, err = run(server, "/no/such/script.py")
    assert code == 1 and "FileNotFoundError" in err


def test_threads_are_waited_for_and_exit_handlers_run(server: ForkServer) -> None:
    code = """
import atexit, sys, threading, time
atexit.register(print, "handler")
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
sys.exit(3)
"""
    assert run(server, "-c", code) == (3, "thread\nhandler\n", "")


def test_an_exit_handler_that_raises_does_not_change_the_exit_code(server: ForkServer) -> None:
    code = "import atexit, sys; atexit.register(lambda: 1 / 0); print('out'); sys.exit(3)"
    returned, out, err = run(server, "-c", code)
    assert (returned, out) == (3, "out\n")
    assert "ZeroDivisionError" in err


# -- surroundings ----------------------------------------------------------------------------------


def test_environment_and_folder_are_the_clients_alone(server: ForkServer, tmp_path: Path) -> None:
    code = "import os; print(sorted(os.environ), os.environ.get('A'), os.getcwd())"
    _, out, _ = run(server, "-c", code, env={"A": "ü = 1"}, cwd=tmp_path)
    names, value = out.split("] ")[0], out.split("] ")[1]
    assert "'PYTHONPATH'" not in names and "'PATH'" not in names
    assert value == f"ü = 1 {tmp_path}\n"


def test_the_clients_pythonpath_can_be_imported_from(server: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "far.py").write_text("value = 6")
    env = dict(os.environ, PYTHONPATH=str(tmp_path))
    assert run(server, "-c", "import far; print(far.value)", env=env)[1] == "6\n"


def test_standard_input_is_the_clients(server: ForkServer) -> None:
    process = start(server, "-c", "print(input()[::-1])", stdin=subprocess.PIPE)
    assert process.communicate("abc\n", timeout=30)[0] == "cba\n"


def test_open_descriptors_keep_their_numbers(server: ForkServer, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("w") as file:
        high = os.dup2(file.fileno(), 77)
        code = "import os; os.write(int(__import__('sys').argv[1]), b'written')"
        try:
            assert run(server, "-c", code, "77", pass_fds=[high])[0] == 0
        finally:
            os.close(high)
    assert path.read_text() == "written"


def test_a_pipe_ends_when_the_child_does(server: ForkServer) -> None:
    read, write = os.pipe()
    with start(server, "-c", f"import os; os.write({write}, b'x')", pass_fds=[write]) as process:
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            assert pipe.read() == b"x"
        assert process.wait(10) == 0


def test_no_child_draws_what_another_draws(server: ForkServer) -> None:
    code = "import random, numpy; print(random.random(), numpy.random.random())"
    first, second = (run(server, "-c", code)[1].split() for _ in range(2))
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_many_children_run_at_once(server: ForkServer) -> None:
    code = "import sys, time; time.sleep(0.3); sys.exit(int(sys.argv[1]))"
    began = time.monotonic()
    children = [start(server, "-c", code, str(i)) for i in range(8)]
    assert [child.wait(30) for child in children] == list(range(8))
    assert time.monotonic() - began < 8 * 0.3 + 5
    for child in children:
        child.communicate()


# -- signals and deaths ----------------------------------------------------------------------------


def sleeper(server: ForkServer, code: str = "") -> tuple[subprocess.Popen[str], int]:
    """A client whose child sleeps for a minute, and the child's pid."""
    script = f"{code}\nimport os, time; print(os.getpid(), flush=True); time.sleep(60)"
    process = start(server, "-c", script)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 128 + 15), (signal.SIGINT, 1)])
def test_a_signal_to_the_client_reaches_the_child(
    server: ForkServer, sent: signal.Signals, code: int
) -> None:
    process, child = sleeper(server)
    process.send_signal(sent)
    err = process.communicate(timeout=10)[1]
    assert process.returncode == code
    assert ("KeyboardInterrupt" in err) is (sent == signal.SIGINT)
    assert not psutil.pid_exists(child)


def test_a_signal_that_comes_before_the_child_waits_for_it(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        path = str(tmp_path / "slow.sock")
        listener.bind(path)
        listener.listen(1)
        process = subprocess.Popen([sys.executable, "-S", "-E", CLIENT, path, "-c", "pass"])
        connection, _ = listener.accept()
        with connection:
            connection.recv(8)
            process.terminate()
            # Stands for the child: this very process, which takes note of the signal.
            received: list[int] = []
            before = signal.signal(signal.SIGTERM, lambda number, _frame: received.append(number))
            connection.sendall(os.getpid().to_bytes(8, "big"))
            assert eventually(lambda: received == [signal.SIGTERM])
            signal.signal(signal.SIGTERM, before)
            connection.sendall((4).to_bytes(8, "big"))
            assert process.wait(10) == 4


def test_a_child_may_handle_a_signal_itself(server: ForkServer) -> None:
    handler = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))"
    process, _ = sleeper(server, handler)
    process.terminate()
    assert process.wait(10) == 5
    process.communicate()


def test_killing_the_client_kills_the_child_and_nothing_else(server: ForkServer) -> None:
    other, other_child = sleeper(server)
    process, child = sleeper(server)
    process.kill()
    assert process.wait(10) == -signal.SIGKILL
    assert eventually(lambda: not psutil.pid_exists(child))
    process.communicate()
    assert psutil.pid_exists(other_child)
    assert run(server, "-c", "print('still here')")[1] == "still here\n"
    other.kill()
    other.communicate()


def test_clients_that_die_at_any_moment_leave_the_server_running(server: ForkServer) -> None:
    for delay in (0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08):
        process = start(server, "-c", "import time; time.sleep(60)")
        time.sleep(delay)
        process.kill()
        process.communicate()
    assert run(server, "-c", "print(1)")[:2] == (0, "1\n")
    assert eventually(lambda: not psutil.Process(server.pid).children())


def send(server: ForkServer, data: bytes) -> None:
    """Connect, send, and leave without waiting for an answer."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(server.executable.with_name("fork.sock")))
        sock.sendall(data)


@pytest.mark.parametrize("sent", [b"", b"\0" * 7 + b"\2{]", b"\0" * 7 + b"\xffshort"])
def test_a_request_that_makes_no_sense_is_dropped(server: ForkServer, sent: bytes) -> None:
    send(server, sent)
    assert run(server, "-c", "print(1)")[:2] == (0, "1\n")


def test_a_client_that_left_before_its_child_was_forked_is_no_harm(server: ForkServer) -> None:
    argv = ["-c", "import time; time.sleep(60)"]
    body = json.dumps({"argv": argv, "env": {}, "cwd": "/", "fds": []}).encode()
    send(server, len(body).to_bytes(8, "big") + body)
    assert run(server, "-c", "print(1)")[:2] == (0, "1\n")
    assert eventually(lambda: not psutil.Process(server.pid).children())


def test_the_death_of_the_server_kills_its_children(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        process, child = sleeper(server)
        os.kill(server.pid, signal.SIGKILL)
        assert process.wait(10) == 255
        assert eventually(lambda: not psutil.pid_exists(child))
        process.communicate()


def test_stopping_the_server_ends_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genenv.forkserver.start._LAST_CHILDREN_SECONDS", 0.2)
    with started(tmp_path) as server:
        process, child = sleeper(server)
    assert eventually(lambda: not psutil.pid_exists(child))
    assert process.wait(10) == 255
    process.communicate()
    assert not psutil.pid_exists(server.pid)


def test_the_death_of_the_run_kills_the_server_and_its_children(tmp_path: Path) -> None:
    script = f"""
import os, subprocess, sys
from pathlib import Path
from genenv.forkserver.start import ForkServer
folder = Path({str(tmp_path)!r})
server = ForkServer(folder, dict(os.environ), folder / "log", ("json",))
server.wait_until_ready(60)
code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
child = subprocess.Popen([str(server.executable), "-c", code], stdout=subprocess.PIPE, text=True)
print(server.pid, child.stdout.readline().strip(), flush=True)
os.kill(os.getpid(), 9)
"""
    env = dict(os.environ, PYTHONPATH=PACKAGES)
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    for pid in (int(word) for word in done.stdout.split()):
        assert eventually(lambda pid=pid: not psutil.pid_exists(pid))


# -- starting --------------------------------------------------------------------------------------


def test_a_module_that_cannot_be_preloaded_is_noted_and_passed_over(tmp_path: Path) -> None:
    running = started(tmp_path, ("no_such_module", "json"))
    with running as server:
        assert run(server, "-c", "print(1)")[1] == "1\n"
    log = running.log.read_text()
    assert "preload no_such_module: ModuleNotFoundError" in log
    assert "fork server ready after" in log


def test_a_server_that_ends_while_starting_names_its_log(tmp_path: Path) -> None:
    (tmp_path / "fork.sock.new").write_text("in the way")
    log = tmp_path / "server.log"
    server = ForkServer(tmp_path, dict(os.environ, PYTHONPATH=PACKAGES), log, ("json",))
    with pytest.raises(WorkerError, match="ended while starting \\(exit code 1\\)") as caught:
        server.wait_until_ready(60)
    assert caught.value.code == "fork-server-died"
    assert caught.value.hint == f"see {log}; or set genenv.fast_start=false"
    assert "Address already in use" in log.read_text()
    server.stop()


def test_a_server_that_is_not_ready_in_time_is_given_up(tmp_path: Path) -> None:
    server = ForkServer(
        tmp_path, dict(os.environ, PYTHONPATH=PACKAGES), tmp_path / "log", ("json",)
    )
    with pytest.raises(WorkerError, match="not ready after 0 s") as caught:
        server.wait_until_ready(0)
    assert caught.value.code == "fork-server-late"
    server.stop()
