"""The small jobs of the control plane: is it alive, what is installed, and ones for its tests."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import threading
from collections.abc import Callable
from typing import Any

Params = dict[str, Any]
Emit = Callable[[dict[str, Any]], None]

_ENGINES = ("verl", "vllm", "ray", "torch", "transformers")


def ping(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Answers at once."""
    return {"pid": os.getpid()}


def version(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Python's version and each engine's, null where one is not installed."""
    return {
        "python": platform.python_version(),
        "packages": {name: _installed(name) for name in _ENGINES},
    }


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def debug_echo(params: Params, emit: Emit, stop: threading.Event) -> Any:
    """Gives its params back."""
    return params


def debug_sleep(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Waits `seconds`, or until it is stopped."""
    return {"stopped": stop.wait(params["seconds"])}


def debug_stubborn(params: Params, emit: Emit, stop: threading.Event) -> None:
    """Never ends, stopped or not."""
    while True:
        threading.Event().wait(1)


def debug_events(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Emits `count` numbered events, then answers."""
    for i in range(params["count"]):
        emit({"type": "tick", "i": i})
    return {"count": params["count"]}


def debug_fail(params: Params, emit: Emit, stop: threading.Event) -> None:
    """Raises."""
    raise ValueError(params.get("message", "asked to fail"))


def debug_nan(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Returns what JSON can't carry."""
    return {"metrics": {"loss": [0.5, float("nan")]}}


def debug_die(params: Params, emit: Emit, stop: threading.Event) -> None:
    """Writes a line to the log and ends the whole process."""
    print("about to die", flush=True)
    os._exit(params.get("code", 9))
