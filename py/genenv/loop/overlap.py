"""Scoring while others still generate (``genenv.hooks.scoring: overlap``).

What goes to veRL's reward workers with a prompt, and what comes back with its responses.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genenv.errors import HookError
from genenv.hook_nodes import socket_folder
from genenv.hooks import HookClient, ScoreResult
from genenv.loop.python_reward import Scorer
from genenv.loop.tasks import Task, to_json

TASK_COLUMN = "genenv_task"
"""A prompt's column: its task as JSON text; empty where its responses aren't scored."""
FIELD = "genenv"
"""Where a trajectory's result is in veRL's ``reward_extra_info``, as JSON text."""
ENVIRONMENT_VARIABLE = "GENENV_HOOKS"
"""How reward workers know where the hook plane is: JSON, see ``hooks_environment``."""
ALL_COLUMNS = ("messages", "dataSource", "extra")


def hooks_environment(
    address: str, token: str | None, remote: tuple[str, str] | None, nodes: str | None = None
) -> dict[str, str]:
    """The environment of the run's processes: the hook plane here, and from other nodes.

    ``nodes`` names the run whose hooks every node has a host of, see ``hook_nodes``.
    """
    places = {
        "local": [address, token],
        "remote": list(remote) if remote else None,
        "nodes": nodes,
    }
    return {ENVIRONMENT_VARIABLE: json.dumps(places)}


def hooks_of_environment() -> HookClient:
    """A client of the run's hook plane, by what this process's environment says.

    Raises:
        HookError: it says nothing, or the plane is on another machine that opened no door.
    """
    text = os.environ.get(ENVIRONMENT_VARIABLE)
    places = json.loads(text) if text else {"local": ["", None], "remote": None}
    if places.get("nodes") is not None:
        return HookClient(f"unix:{socket_folder(places['nodes'], _own_node()) / 'hooks.sock'}")
    address, token = places["local"]
    if address.startswith("unix:") and Path(address.removeprefix("unix:")).is_socket():
        return HookClient(address, token)
    if places["remote"] is None:
        raise HookError(
            f"this node doesn't reach the run's hooks at {address or 'no address'}",
            code="hook-host-unreachable",
            hint="set genenv.hooks.address, or genenv.hooks.scoring=batch",
        )
    return HookClient(*places["remote"])


def _own_node() -> str:
    import ray

    return ray.get_runtime_context().get_node_id()


def task_texts(tasks: Sequence[Task], uses: Sequence[str]) -> list[str]:
    """Each task with what its reward may see of it, as JSON text."""
    return [to_json(_seen(task, uses)) for task in tasks]


def _seen(task: Task, uses: Sequence[str]) -> dict[str, Any]:
    columns = {"messages": task.messages, "dataSource": task.data_source, "extra": task.extra}
    used = {name: columns[name] for name in uses}
    return {"id": task.id, "groundTruth": task.ground_truth, **used}


def score_trajectories(
    scorer: Scorer, responses: Sequence[str], task_texts: Sequence[str]
) -> list[ScoreResult]:
    """A result for each response to the task beside it."""
    tasks = [json.loads(text) for text in task_texts]

    def column(name: str) -> list[Any] | None:
        return [task[name] for task in tasks] if tasks and name in tasks[0] else None

    return scorer.score(
        responses,
        [task["groundTruth"] for task in tasks],
        [task["id"] for task in tasks],
        messages=column("messages"),
        data_sources=column("dataSource"),
        extras=column("extra"),
    )


def told_score(extra_fields: dict[str, Any]) -> dict[str, Any] | None:
    """What a reward worker told about a trajectory; None where it wasn't asked."""
    text = extra_fields.get("reward_extra_info", {}).get(FIELD)
    return None if text is None else json.loads(text)


def results_of(rows: Sequence[dict[str, Any]]) -> list[ScoreResult]:
    """The results in a rollout's rows.

    Raises:
        HookError: what a reward worker met, or that a response came without a result.
    """
    return [_result(row.get("score")) for row in rows]


def _result(told: dict[str, Any] | None) -> ScoreResult:
    if told is None:
        raise HookError(
            "a response came out of the rollout without its score",
            code="score-missing",
            hint="see logs/agent.log, or take genenv.hooks.scoring=batch",
        )
    if "error" in told:
        error = told["error"]
        raise HookError(error["message"], code=error["code"], hint=error["hint"])
    return ScoreResult(**told)
