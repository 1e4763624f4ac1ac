"""The Ray cluster of a run: a private one on this machine that ends with the run, or one found."""

import contextlib
import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genenv.errors import WorkerError

# veRL's actors each take a slot; more slots than cores keeps them from waiting for ever.
_LOGICAL_CPUS = 64
_OBJECT_STORE_BYTES = 256 * 1024 * 1024
_PY_FOLDER = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Cluster:
    """Where the roles connect to.

    Attributes:
        address: ``host:port`` of the cluster's head.
        runtime_env: what each Ray worker of a role gets: environment variables, the Python to run.
        folder: Ray's session folder where the cluster is ours, else None.
    """

    address: str
    runtime_env: dict[str, Any]
    folder: Path | None


def python_path() -> str:
    """PYTHONPATH for child processes: this package's folder first."""
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([str(_PY_FOLDER), *([inherited] if inherited else [])])


def start_local(
    folder: Path, environment: dict[str, str], python: str | None, roles: int
) -> Cluster:
    """Start Ray on this machine alone; a cluster that already runs here is left alone.

    Args:
        folder: a short private path (Unix socket names are at most 107 bytes).
        environment: variables for every worker.
        python: what workers run in place of ``python``, or None for the plain way.
        roles: models that each take one of veRL's device slots.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray's workers would yield to every other process on the machine, its own driver among them.
    os.environ.setdefault("RAY_worker_niceness", "0")
    import ray

    runtime_env: dict[str, Any] = {"env_vars": environment | {"PYTHONPATH": python_path()}}
    if python is not None:
        runtime_env["py_executable"] = python
    try:
        context = ray.init(
            address="local",
            _temp_dir=str(folder),
            include_dashboard=False,
            num_cpus=_LOGICAL_CPUS,
            num_gpus=roles,
            namespace="genenv",
            log_to_driver=False,
            logging_level=logging.WARNING,
            object_store_memory=_OBJECT_STORE_BYTES,
        )
    except Exception as error:
        raise WorkerError(
            f"Ray could not start on this machine: {error}",
            code="ray-start",
            hint="npx genenv doctor checks memory, /dev/shm and ports",
        ) from error
    return Cluster(context.address_info["address"], runtime_env, folder)


def stop(cluster: Cluster, logs: Path) -> None:
    """End our cluster and keep its logs; a cluster that was there before is only left."""
    import ray

    session = cluster.folder / "session_latest" / "logs" if cluster.folder else None
    ray.shutdown()
    if session is not None and session.exists():
        target = logs / "ray"
        shutil.rmtree(target, ignore_errors=True)
        with contextlib.suppress(shutil.Error):  # sockets and pipes among the logs cannot be copied
            shutil.copytree(session.resolve(), target, ignore_dangling_symlinks=True)
