"""Notices the loss of a node of a joined cluster, and says which it was.

Ray takes up to half a minute to call a silent node dead, and tells nobody who waits for something
else: a rollout whose engine was there would be waited for till its timeout. A node whose raylet
refuses connections is lost at once; one that does not answer is lost when Ray says so.
"""

import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from genenv.errors import WorkerError
from genenv.watch import Watch

_POLL_SECONDS = 1.0
_CONNECT_SECONDS = 0.5


@dataclass(frozen=True)
class Node:
    """Ray's id of it, and where its raylet listens."""

    id: str
    address: str
    port: int


def alive(nodes: Sequence[Mapping[str, Any]]) -> list[Node]:
    """The live ones of ``ray.nodes()``."""
    return [
        Node(node["NodeID"], node["NodeManagerAddress"], int(node["NodeManagerPort"]))
        for node in nodes
        if node["Alive"]
    ]


class NodeWatch(Watch):
    """Looks every second whether every node is still there."""

    def __init__(
        self,
        list_nodes: Callable[[], Sequence[Mapping[str, Any]]],
        hint: str,
        on_loss: Callable[[], None],
    ) -> None:
        """Watch the nodes that are alive now.

        Args:
            list_nodes: ``ray.nodes``.
            hint: the error's.
            on_loss: called once, in the watching thread.
        """
        self._list_nodes = list_nodes
        self._hint = hint
        self._nodes = alive(list_nodes())
        super().__init__("node-watch", _POLL_SECONDS, on_loss)

    def find(self) -> WorkerError | None:
        """The nodes that Ray no longer lists, or whose raylet refuses connections."""
        living = {node.id for node in alive(self._list_nodes())}
        lost = [node for node in self._nodes if node.id not in living or _refuses(node)]
        if not lost:
            return None
        names = ", ".join(node.address for node in lost)
        return WorkerError(f"the Ray cluster lost node {names}", code="node-lost", hint=self._hint)


def _refuses(node: Node) -> bool:
    """Whether nothing listens there any more; a node that only does not answer may be busy."""
    try:
        with contextlib.closing(
            socket.create_connection((node.address, node.port), _CONNECT_SECONDS)
        ):
            return False
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
