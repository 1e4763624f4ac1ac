"""The job "score": rows through the hook plane, by the client that the training loop uses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from genenv.hooks import HookClient


def score(
    params: dict[str, Any], emit: Callable[[dict[str, Any]], None], stop: threading.Event
) -> dict[str, Any]:
    """Results in row order, under "results".

    `params`: address, token (or null), and rows of {"response", "groundTruth", "taskId",
    "messages", "dataSource", "extra"}.
    """
    rows = params["rows"]
    with HookClient(params["address"], params["token"]) as client:
        results = client.score(
            [row["response"] for row in rows],
            [row["groundTruth"] for row in rows],
            [row["taskId"] for row in rows],
            messages=[row["messages"] for row in rows],
            data_sources=[row["dataSource"] for row in rows],
            extras=[row["extra"] for row in rows],
        )
    return {"results": [result.to_json() for result in results]}
