"""The loss of a cluster's node, told by its address, in time."""

import socket
import threading
from typing import Any

from genenv.node_watch import NodeWatch


def node(name: str, port: int, alive: bool = True) -> dict[str, Any]:
    return {
        "NodeID": name,
        "NodeManagerAddress": "127.0.0.1",
        "NodeManagerPort": port,
        "Alive": alive,
    }


def watch(nodes: list[dict[str, Any]], lost: threading.Event) -> NodeWatch:
    return NodeWatch(lambda: nodes, "npx genenv resume runs/x", lost.set)


def test_nodes_that_answer_are_no_loss() -> None:
    with socket.create_server(("127.0.0.1", 0)) as raylet:
        watching = watch([node("a", raylet.getsockname()[1])], threading.Event())
        assert watching.cause() is None
        watching.stop()


def test_a_node_that_refuses_is_lost_at_once_and_told_without_being_asked() -> None:
    lost = threading.Event()
    raylet = socket.create_server(("127.0.0.1", 0))
    watching = watch([node("a", raylet.getsockname()[1])], lost)
    assert watching.cause() is None
    raylet.close()
    assert lost.wait(10)
    cause = watching.cause()
    assert cause is not None
    assert (cause.code, cause.hint) == ("node-lost", "npx genenv resume runs/x")
    assert str(cause) == "the Ray cluster lost node 127.0.0.1"
    watching.stop()


def test_a_node_that_ray_calls_dead_is_lost_even_where_its_port_is_taken_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as raylet:
        nodes = [node("a", raylet.getsockname()[1])]
        watching = watch(nodes, threading.Event())
        nodes[0] = node("a", raylet.getsockname()[1], alive=False)
        assert watching.cause() is not None
        watching.stop()


def test_nodes_that_were_never_there_are_not_missed() -> None:
    watching = watch([node("a", 1, alive=False)], threading.Event())
    assert watching.cause() is None
    watching.stop()


def test_after_the_end_nodes_may_go() -> None:
    raylet = socket.create_server(("127.0.0.1", 0))
    watching = watch([node("a", raylet.getsockname()[1])], threading.Event())
    watching.stop()
    raylet.close()
    assert watching.cause() is None
