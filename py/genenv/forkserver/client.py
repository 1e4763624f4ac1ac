"""Stands where ``python`` would: hands this process to the fork server and waits for its exit.

Only the standard library, run with ``-S -E``: it must start in milliseconds.
"""

import array
import contextlib
import json
import os
import signal
import socket
import sys

_LOST = 255
_PASSED_ON = (signal.SIGTERM, signal.SIGINT)


def executable() -> str:
    """Path of the wrapper script that runs this client (made by ``start.ForkServer``)."""
    return os.environ["GENENV_FORK_SERVER"]


def _open_descriptors(own: int) -> list[int]:
    numbers = [0, 1, 2] + [int(n) for n in os.listdir("/proc/self/fd") if int(n) > 2]  # noqa: PTH208
    kept = []
    for number in numbers:
        if number == own:
            continue
        with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
            os.fstat(number)
            kept.append(number)
    return kept


def main(path: str, argv: list[str]) -> int:
    # Until there is a child to pass them on to, they wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.connect(path)
    fds = _open_descriptors(server.fileno())
    request = {"argv": argv, "env": dict(os.environ), "cwd": os.getcwd(), "fds": fds}  # noqa: PTH109
    body = json.dumps(request).encode()
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
    server.sendmsg([len(body).to_bytes(8, "big")], [rights])
    server.sendall(body)
    pid = int.from_bytes(server.recv(8), "big")
    for number in _PASSED_ON:
        signal.signal(number, lambda received, _frame: _pass_on(pid, received))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    for fd in fds:
        if fd > 2:
            os.close(fd)
    answer = server.recv(8)
    return int.from_bytes(answer, "big") if answer else _LOST


def _pass_on(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2:]))
