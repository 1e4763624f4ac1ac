"""The Ray cluster of a run: a private one on this machine that ends with the run, or one joined."""

import contextlib
import logging
import os
import shutil
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genenv.cluster_check import CPUS_A_DEVICE, Need
from genenv.errors import ConfigError, WorkerError

# veRL's actors each take a slot; more slots than cores keeps them from waiting for ever.
_LOGICAL_CPUS = 64
_OBJECT_STORE_BYTES = 256 * 1024 * 1024
_SHUTDOWN_SECONDS = 6.0
_PY_FOLDER = Path(__file__).resolve().parents[1]
_ANSWER_SECONDS = 5.0
_RESERVE_SECONDS = 30.0
# Folders and programs of this machine: another node has its own, or none.
_OF_THIS_MACHINE = (
    "GENENV_FORK_SERVER",
    "PYTHONPATH",
    "TENSORBOARD_DIR",
    "TMPDIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "VLLM_RPC_BASE_PATH",
    "WANDB_DIR",
)
# Workers on a cluster have their node's environment, not this process's.
_PASSED_ON = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


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

    @property
    def logs(self) -> Path | None:
        """Ray's logs of every worker; None in a cluster that isn't ours."""
        return self.folder / "session_latest" / "logs" if self.folder else None


def python_path() -> str:
    """PYTHONPATH for child processes: this package's folder first."""
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([str(_PY_FOLDER), *([inherited] if inherited else [])])


def start_local(
    folder: Path, environment: dict[str, str], python: str | None, devices: int | None
) -> Cluster:
    """Start Ray on this machine alone; a cluster that already runs here is left alone.

    Args:
        folder: a short private path (Unix socket names are at most 107 bytes).
        environment: variables for every worker.
        python: what workers run in place of ``python``, or None for the plain way.
        devices: slots for veRL's devices where they are no GPUs; None finds the GPUs.
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
            num_gpus=devices,
            namespace="genenv",
            log_to_driver=False,
            logging_level=logging.WARNING,
            # Beside GPUs batches are large and memory is not scarce: Ray's own share of it.
            object_store_memory=None if devices is None else _OBJECT_STORE_BYTES,
        )
    except Exception as error:
        raise WorkerError(
            f"Ray could not start on this machine: {error}",
            code="ray-start",
            hint="npx genenv doctor checks memory, /dev/shm and ports",
        ) from error
    return Cluster(context.address_info["address"], runtime_env, folder)


def join(address: str, environment: dict[str, str], hook_bundle: Path | None = None) -> Cluster:
    """Connect this process to a cluster that runs already, through the Ray node on this machine.

    Args:
        address: ``host:port`` of its head, or ``auto`` for the cluster this machine is a node of.
        environment: variables for every worker, as far as they mean anything on another machine.
        hook_bundle: folder that becomes the working directory of this process's own tasks.

    Raises:
        WorkerError: nothing answers there, it is no Ray, or it does not let this process in.
        ConfigError: this machine is no node of it, or its Ray or Python is another version.
    """
    if address != "auto":
        _refuse_silent(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    runtime_env = shipped(environment)
    own = runtime_env if hook_bundle is None else runtime_env | {"working_dir": str(hook_bundle)}
    try:
        context = ray.init(
            address=address,
            namespace="genenv",
            log_to_driver=False,
            logging_level=logging.WARNING,
            runtime_env=own,
        )
    except Exception as error:
        raise _not_joined(address, error) from error
    return Cluster(context.address_info["gcs_address"], runtime_env, None)


def shipped(environment: dict[str, str]) -> dict[str, Any]:
    """Ray's runtime environment on a joined cluster: our package itself, and the variables."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    everywhere = {k: v for k, v in environment.items() if k not in _OF_THIS_MACHINE}
    return {
        "env_vars": passed_on | everywhere,
        "py_modules": [str(_PY_FOLDER / "genenv")],
        "excludes": ["__pycache__", "*.pyc"],
    }


def _refuse_silent(address: str) -> None:
    """Ray itself would wait for minutes, and end the process then."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except OSError as error:
        raise WorkerError(
            f"nothing answers at genenv.ray_address {address}: {error}",
            code="no-ray-cluster",
            hint="give the head's host:port (ray start prints it), or start one: ray start --head",
        ) from error


def _not_joined(address: str, error: Exception) -> WorkerError | ConfigError:
    """What Ray's own error means to somebody who gave ``genenv.ray_address``."""
    text = " ".join(str(error).split())
    if "Version mismatch" in text:
        return ConfigError(
            f"the Ray cluster at {address} and this machine differ: {text}",
            code="version-mismatch",
            hint="start every node's Ray from the environment that npx genenv setup makes",
        )
    if "No node info found" in text or "raylet" in text.lower():
        return ConfigError(
            f"this machine is no node of the Ray cluster at {address}: {text}",
            code="not-a-ray-node",
            hint="run genenv on one of its nodes, or make this machine one: "
            f"ray start --address={address}",
        )
    if "Could not find any running Ray" in text:
        return WorkerError(
            "genenv.ray_address is auto, and no Ray runs on this machine",
            code="no-ray-cluster",
            hint="give host:port, make this machine a node (ray start --address=...), or leave the "
            "key out: a run then starts a Ray of its own",
        )
    return WorkerError(
        f"the Ray cluster at {address} did not take this process: {text}",
        code="ray-refused",
        hint="with token authentication, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN (or "
        "RAY_AUTH_TOKEN_PATH) to the cluster's own; else check that it is Ray that listens there",
    )


def nodes() -> list[dict[str, Any]]:
    """What Ray says of every node that was ever in the connected cluster."""
    import ray

    return ray.nodes()


def reserve(need: Need, roles: int) -> list[str]:
    """Placement groups that ``roles`` roles share, as veRL makes them for one: their ids.

    The caller stays connected for as long as they are used.
    """
    import ray
    from ray.util.placement_group import placement_group

    bundle = {"GPU": 1, "CPU": CPUS_A_DEVICE * roles}
    groups = [
        placement_group([bundle] * need.devices, strategy="STRICT_PACK") for _ in range(need.nodes)
    ]
    ray.get([group.ready() for group in groups], timeout=_RESERVE_SECONDS)
    return [group.id.hex() for group in groups]


def leave() -> None:
    """Disconnect this process from a joined cluster."""
    import ray

    ray.shutdown()


def stop(cluster: Cluster, logs: Path) -> None:
    """End our cluster and keep its logs; a cluster that was there before is only left."""
    import ray

    session = cluster.logs
    # A cluster that has lost a part of itself may not answer; what is left of it is killed then.
    shutdown = threading.Thread(target=ray.shutdown, name="ray-shutdown", daemon=True)
    shutdown.start()
    shutdown.join(_SHUTDOWN_SECONDS)
    if session is not None and session.exists():
        target = logs / "ray"
        shutil.rmtree(target, ignore_errors=True)
        with contextlib.suppress(shutil.Error):  # sockets and pipes among the logs cannot be copied
            shutil.copytree(session.resolve(), target, ignore_dangling_symlinks=True)
