"""The hook plane's connection: frames out, frames in, whatever happens to the host meanwhile."""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from genenv import wire
from genenv.errors import HookError
from genenv.hook_link import LocalLink
from genenv.wire import Header, Kind, Op

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ATTEMPTS = 8
"""How often a request is sent before its host is given up."""
RECONNECT_S = 15.0
"""How long a host may stay away: it is started again in about half a second."""
_SOCKET_BUFFER = 4 << 20

Payload = pa.RecordBatch | bytes


@dataclass(slots=True)
class _Request:
    id: int
    op: Op
    payload: Payload
    attempt: int = 0
    reply: tuple[Kind, memoryview] | None = None


class HookChannel:
    """One connection, one call at a time; threads may share it.

    When the host dies the channel connects again and re-sends what has no reply yet, under the same
    ids: an id's first reply counts and any other is dropped, so no sample's score is taken twice.
    """

    def __init__(self, address: str, token: str | None, timeout_s: float) -> None:
        self._address = address
        self._token = token
        self._timeout_s = timeout_s
        self._socket: socket.socket | None = None
        self._link: LocalLink | None = None
        self._poll = select.poll()
        self._lock = threading.Lock()
        # Ids are unique among clients: the host's crash journal goes by id.
        self._next_id = int.from_bytes(os.urandom(4), "little") << 32

    def close(self) -> None:
        with self._lock:
            self._drop()

    def call(self, op: Op, payloads: Iterator[Payload]) -> list[tuple[Kind, memoryview]]:
        """Sends every payload, reads every reply, whatever happens to the host meanwhile."""
        deadline = time.monotonic() + self._timeout_s
        requests: list[_Request] = []
        with self._lock:
            while True:
                try:
                    self._exchange(op, payloads, requests, deadline)
                except (EOFError, OSError) as error:
                    self._drop()
                    self._next_attempt(op, requests, error, deadline)
                    continue
                except BaseException:
                    # Replies still on their way must not be read by the next call.
                    self._drop()
                    raise
                return [request.reply for request in requests if request.reply is not None]

    def _exchange(
        self,
        op: Op,
        payloads: Iterator[Payload],
        requests: list[_Request],
        deadline: float,
    ) -> None:
        connection = self._connect(deadline)
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        waiting = {request.id: request for request in requests if request.reply is None}
        if self._link is not None:
            self._link.clear()
        for request in waiting.values():
            self._send(connection, request)
        for payload in payloads:
            request = _Request(self._take_id(), op, payload)
            requests.append(request)
            waiting[request.id] = request
            self._send(connection, request)
        while waiting:
            for header, body in self._replies(connection, deadline):
                request = waiting.get(header.id)
                if request is None:
                    continue
                if header.op != op:
                    raise wire.bad_frame(f"answers op {op.name} with {header.op.name}")
                if header.kind is Kind.ERROR:
                    raise host_error(body)
                request.reply = (header.kind, body)
                del waiting[header.id]

    def _replies(
        self, connection: socket.socket, deadline: float
    ) -> list[tuple[Header, memoryview]]:
        """At least one, from the socket or the pipe, whichever has some first."""
        left_s = max(0.001, deadline - time.monotonic())
        if self._link is not None:
            ready = dict(self._poll.poll(1000 * left_s))
            if ready.get(self._link.fileno(), 0) & select.POLLIN:
                return self._link.read()
            if not ready:
                raise TimeoutError("timed out")
            if connection.fileno() not in ready:
                raise EOFError("the hook host closed its pipe")
        connection.settimeout(left_s)
        return [_receive(connection)]

    def _next_attempt(
        self, op: Op, requests: list[_Request], error: Exception, deadline: float
    ) -> None:
        open_requests = [request for request in requests if request.reply is None]
        for request in open_requests:
            request.attempt += 1
        attempts = max((request.attempt for request in open_requests), default=0)
        if time.monotonic() >= deadline:
            raise HookError(
                f"the hook host at {self._address} gave no answer to {op.name.lower()} "
                f"in {self._timeout_s:g} s",
                code="hook-host-timeout",
                hint="look into logs/hooks.log for what the hooks were doing",
            ) from error
        if attempts >= MAX_ATTEMPTS:
            raise HookError(
                f"the hook host at {self._address} was lost {attempts} times in one call ({error})",
                code="hook-host-died",
                hint="look into logs/hooks.log for why it died",
            ) from error

    def _connect(self, deadline: float) -> socket.socket:
        if self._socket is None:
            until = min(deadline, time.monotonic() + RECONNECT_S)
            while True:
                try:
                    self._socket = self._open()
                    break
                except (OSError, EOFError) as error:
                    if time.monotonic() >= until:
                        raise HookError(
                            f"no hook host answers at {self._address} ({error})",
                            code="hook-host-unreachable",
                            hint="is the genenv process that started this run still there?",
                        ) from error
                    time.sleep(0.02)
        return self._socket

    def _open(self) -> socket.socket:
        kind, _, rest = self._address.partition(":")
        if kind == "unix":
            connection = socket.socket(socket.AF_UNIX)
            target: Any = rest
        elif kind == "tcp":
            host, _, port = rest.rpartition(":")
            connection = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            target = (host.strip("[]"), int(port))
        else:
            raise HookError(
                f'the hook address "{self._address}" is neither unix:PATH nor tcp:HOST:PORT',
                code="hook-address",
            )
        try:
            connection.settimeout(RECONNECT_S)
            connection.connect(target)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BUFFER)
            hello = _Request(self._take_id(), Op.HELLO, (self._token or "").encode())
            self._send(connection, hello)
            _, path = _receive(connection)
            if len(path):
                self._link = LocalLink.open(bytes(path).decode())
                self._poll.register(connection, select.POLLIN)
                self._poll.register(self._link, select.POLLIN)
        except BaseException:
            connection.close()
            raise
        return connection

    def _send(self, connection: socket.socket, request: _Request) -> None:
        kind, pieces = self._pieces(request.payload)
        size = sum(len(piece) for piece in pieces)
        if size > wire.MAX_PAYLOAD_BYTES:
            raise HookError(
                f"a request of {size} bytes is over the limit of {wire.MAX_PAYLOAD_BYTES}",
                code="frame-size",
                hint="shorten the responses or the columns that the hook uses",
            )
        header = Header(request.op, kind, min(request.attempt, 255), request.id, size)
        _send_all(connection, [wire.encode_header(header), *pieces])

    def _pieces(self, payload: Payload) -> tuple[Kind, list[Any]]:
        """The payload, or its place in the shared file where it is large and there is room."""
        if isinstance(payload, bytes):
            return Kind.REQUEST, [payload]
        if self._link is not None:
            place = self._link.write(payload)
            if place is not None:
                return Kind.REQUEST_MAPPED, [place]
        return Kind.REQUEST, wire.batch_pieces(payload)

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _drop(self) -> None:
        if self._link is not None:
            self._poll = select.poll()
            self._link.close()
            self._link = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def host_error(body: memoryview) -> HookError:
    try:
        error = json.loads(bytes(body))
        return HookError(str(error["message"]), code=str(error["code"]), hint=error["hint"])
    except (ValueError, KeyError, TypeError) as broken:
        raise wire.bad_frame(f"holds a broken error ({broken})") from broken


def _send_all(connection: socket.socket, pieces: list[Any]) -> None:
    views = [memoryview(piece) for piece in pieces if len(piece) > 0]
    sent = connection.sendmsg(views)
    for view in views:
        if sent < len(view):
            connection.sendall(view[sent:])
        sent = max(0, sent - len(view))


def _receive(connection: socket.socket) -> tuple[Header, memoryview]:
    head = _read(connection, wire.HEADER_BYTES)
    header = wire.decode_header(head, wire.MAX_PAYLOAD_BYTES)
    return header, _read(connection, header.length)


def _read(connection: socket.socket, size: int) -> memoryview:
    buffer = memoryview(bytearray(size))
    at = 0
    while at < size:
        got = connection.recv_into(buffer[at:])
        if got == 0:
            raise EOFError("the hook host closed the connection")
        at += got
    return buffer
