"""The jobs "session.*" of the control plane: engines that stay up between calls."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genenv.cluster import python_path
from genenv.device import Device, cpu_has_bf16, resolve_device, worker_environment
from genenv.engine.handle import EngineHandle
from genenv.errors import PythonError
from genenv.model_shape import GIB

Params = dict[str, Any]
Emit = Callable[[dict[str, Any]], None]

_START_SECONDS = 900.0
_sessions: dict[str, tuple[EngineHandle, Path]] = {}


def open_session(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Loads a model; the result is its status, with the driver's pid and the seconds it took.

    `params`: id; model (a folder or a hub id); folder (private, for sockets); logFile; device
    ("auto", "cpu", "cuda"); dtype, maxModelTokens or null; kvCacheGib; engine (vLLM's own keys).
    """
    device = resolve_device(params["device"])
    folder = Path(params["folder"]) / "engine"
    folder.mkdir(mode=0o700)
    handle = EngineHandle(folder, Path(params["logFile"]))
    if not _sessions:
        atexit.register(_close_all)
    _sessions[params["id"]] = (handle, folder)
    try:
        environment = _environment(device, folder)
        started = handle.start(_arguments(params, device), environment, _START_SECONDS, stop)
    except BaseException:
        _close(params["id"])
        raise
    return started | {"pid": handle.pid, "device": device}


def generate(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Samples as events; the result says whether it was cancelled."""
    handle = _session(params["id"])
    args = {name: params[name] for name in ("prompts", "raw", "n", "sampling", "skip")}
    result = handle.call("generate", args, stop, emit)
    return {"cancelled": result is None}


def tokenize(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Token ids of each prompt."""
    args = {"prompts": params["prompts"], "raw": params["raw"]}
    return _session(params["id"]).call("tokenize", args, stop) or {"tokens": []}


def status(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """What is under way, and what has been done so far."""
    return _session(params["id"]).call("status", {}, stop) or {}


def close(params: Params, emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Ends the engine and removes its folder."""
    _session(params["id"])
    _close(params["id"])
    return {}


def _session(name: str) -> EngineHandle:
    if name not in _sessions:
        raise PythonError(f"there is no open session {name!r}", code="session-closed")
    return _sessions[name][0]


def _close(name: str) -> None:
    handle, folder = _sessions.pop(name)
    handle.stop()
    shutil.rmtree(folder, ignore_errors=True)


def _close_all() -> None:
    """For sessions whose owner has gone without closing them."""
    for name in list(_sessions):
        _close(name)


def _environment(device: Device, folder: Path) -> dict[str, str]:
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = worker_environment(device, os.cpu_count() or 1)
    # vLLM's sockets and temporary files go when the folder goes.
    environment |= {"TMPDIR": str(temporary), "VLLM_RPC_BASE_PATH": str(temporary)}
    return environment | {"PYTHONPATH": python_path()}


def _arguments(params: Params, device: Device) -> dict[str, Any]:
    """vLLM's engine arguments; the caller's own (`engine`) win."""
    arguments: dict[str, Any] = {
        "model": params["model"],
        "dtype": params["dtype"] or "auto",
        # The sampling is what the caller says, not what the model's generation_config.json does.
        "generation_config": "vllm",
        "disable_log_stats": True,
        "enable_log_requests": False,
    }
    if params["maxModelTokens"] is not None:
        arguments["max_model_len"] = params["maxModelTokens"]
    if device == "cpu":
        arguments |= {
            "dtype": params["dtype"] or ("bfloat16" if cpu_has_bf16() else "float32"),
            "enforce_eager": True,
            "distributed_executor_backend": "uni",
            "kv_cache_memory_bytes": int(params["kvCacheGib"] * GIB),
        }
    return arguments | params["engine"]
