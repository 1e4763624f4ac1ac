"""A hook host on every node of a joined cluster (``genenv.hooks.placement: node``).

Each is started by a Ray actor from the bundle that is the actor's working directory, and reached on
a Unix socket of its node. The loop hands a batch out in pieces; a lost node's pieces go to the
others, and a piece's first result counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from genenv.driver_process import point_of
from genenv.errors import HookError, WorkerError
from genenv.hooks import HookClient, Message, ScoreResult

PIECE_ROWS = 256
"""Rows that a node scores at once: few enough to share out, enough to be worth a call."""
_PREFIX = "genenv-hooks-"
_PIECES_A_NODE = 2
_START_SECONDS = 60.0
# Failures of a host or its node, not of the reward: another node may do better.
_LOST = ("hook-host-died", "hook-host-unreachable")


def socket_folder(run: str, node_id: str) -> Path:
    """Where a node's host listens: every process there can tell, by the run's name and Ray's id."""
    return Path("/tmp") / f"{_PREFIX}{run}-{node_id[:12]}"


def sweep(parent: Path = Path("/tmp")) -> None:
    """Remove this user's folders whose host was killed with its node: their sockets are dead."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another host's sweep was faster
            status = folder.stat()
            # A young one may be another run's that is about to listen.
            is_old = time.time() - status.st_mtime > _START_SECONDS
            if is_old and status.st_uid == os.getuid() and not _listens(folder / "hooks.sock"):
                shutil.rmtree(folder)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
    return True


class NodeHost:
    """The actor on a node: owns the Node.js process there, and calls it."""

    def __init__(self, run: str, node_id: str, limits: Mapping[str, Any]) -> None:
        sweep()
        folder = socket_folder(run, node_id)
        program = shutil.which("node")
        if program is None:
            raise HookError("this node has no Node.js on its PATH", code="no-node-js")
        self._process = subprocess.Popen(
            [program, "--enable-source-maps", "node-host.js"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        start = json.dumps({"dir": str(folder), "limits": dict(limits)})
        self._process.stdin.write(start + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        ready = json.loads(line) if line else {"message": "it ended", "code": "hook-host"}
        if "address" not in ready:
            raise HookError(
                f"the hook host could not start: {ready['message']}",
                code=ready["code"],
                hint=ready.get("hint"),
            )
        self._client = HookClient(ready["address"])
        self.scored = 0

    def score(self, columns: dict[str, Any]) -> list[ScoreResult]:
        """Results of one piece, in order; ``columns`` are ``HookClient.score``'s arguments."""
        results = self._client.score(**columns)
        self.scored += len(results)
        return results

    def rows_scored(self) -> int:
        return self.scored

    def close(self) -> None:
        """End the Node.js process and remove its folder."""
        self._client.close()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


class NodeHooks:
    """All nodes' hosts, as one scorer of the loop's."""

    def __init__(self, actors: Mapping[str, Any]) -> None:
        """`actors` are handles of ``NodeHost``, by the node's address."""
        self._actors = dict(actors)
        self.lost: list[str] = []
        """Nodes that went away while they were asked, by address."""

    @staticmethod
    def start(run: str, limits: Mapping[str, Any]) -> NodeHooks:
        """A host on every live node of the cluster this process is connected to.

        Raises:
            WorkerError: a node could not start one.
        """
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        kind = ray.remote(num_cpus=0, max_restarts=0)(NodeHost)
        actors = {}
        for node in ray.nodes():
            if node["Alive"]:
                here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                actors[node["NodeManagerAddress"]] = kind.options(scheduling_strategy=here).remote(
                    run, node["NodeID"], dict(limits)
                )
        hooks = NodeHooks(actors)
        for name, actor in actors.items():
            try:
                ray.get(actor.rows_scored.remote(), timeout=_START_SECONDS)
            except Exception as error:
                hooks.close()
                raise WorkerError(
                    f"the hooks could not be started on node {name}: {point_of(str(error))}",
                    code="hook-node",
                    hint="see the message; genenv.hooks.placement=driver runs them here only",
                ) from error
        return hooks

    def rows_scored(self) -> dict[str, int]:
        """Rows that each living node has scored."""
        import ray

        return {name: ray.get(a.rows_scored.remote()) for name, a in self._actors.items()}

    def score(
        self,
        responses: Sequence[str],
        ground_truths: Sequence[Any],
        task_ids: Sequence[str],
        *,
        messages: Sequence[list[Message]] | None = None,
        data_sources: Sequence[str | None] | None = None,
        extras: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[ScoreResult]:
        """A result for each response, in order, from whichever nodes are alive.

        Raises:
            HookError: what a host says of the batch itself, or no node is left.
        """
        columns = {
            "responses": responses,
            "ground_truths": ground_truths,
            "task_ids": task_ids,
            "messages": messages,
            "data_sources": data_sources,
            "extras": extras,
        }
        rows = _piece_rows(len(responses), len(self._actors))
        waiting = [
            {k: None if v is None else list(v[at : at + rows]) for k, v in columns.items()}
            for at in range(0, len(responses), rows)
        ]
        pieces = self._hand_out(waiting)
        return [result for piece in pieces for result in piece]

    def _hand_out(self, pieces: list[dict[str, Any]]) -> list[list[ScoreResult]]:
        import ray

        left = list(range(len(pieces)))
        running: dict[Any, tuple[int, str]] = {}
        done: dict[int, list[ScoreResult]] = {}
        while len(done) < len(pieces):
            for name, actor in self._actors.items():
                busy = sum(owner == name for _, owner in running.values())
                for _ in range(min(_PIECES_A_NODE - busy, len(left))):
                    index = left.pop(0)
                    running[actor.score.remote(pieces[index])] = (index, name)
            if not running:
                raise HookError(
                    f"no node of the cluster is left to score with (lost: {', '.join(self.lost)})",
                    code="hook-nodes-lost",
                    hint="resume the run when the cluster has nodes with Node.js again",
                )
            (answer,), _ = ray.wait(list(running), num_returns=1)
            index, name = running.pop(answer)
            try:
                done[index] = ray.get(answer)
            except Exception as error:
                if not _is_loss(error):
                    raise _own(error) from error
                left.insert(0, index)
                if name in self._actors:
                    del self._actors[name]
                    self.lost.append(name)
        return [done[index] for index in range(len(pieces))]

    def close(self) -> None:
        """End every host."""
        import ray

        closing = [actor.close.remote() for actor in self._actors.values()]
        ray.wait(closing, num_returns=len(closing), timeout=10.0) if closing else None
        for actor in self._actors.values():
            ray.kill(actor)
        self._actors = {}


def new_run() -> str:
    """A name that no other run's sockets have."""
    return uuid.uuid4().hex[:12]


def _piece_rows(rows: int, nodes: int) -> int:
    """Every node gets something of a small batch."""
    share = -(-rows // max(1, nodes * _PIECES_A_NODE))
    return max(1, min(PIECE_ROWS, share))


def _own(error: Exception) -> Exception:
    """The host's error out of Ray's wrapping of it."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, HookError) else error


def _is_loss(error: Exception) -> bool:
    from ray.exceptions import RayActorError, RayTaskError

    own = _own(error)
    if isinstance(own, HookError):
        return own.code in _LOST
    # Anything else that Ray says of an actor it can't reach is a loss, but not the actor's own bug.
    return isinstance(error, RayActorError) and not isinstance(error, RayTaskError)
