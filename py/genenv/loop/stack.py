"""What must run before the first epoch and be gone after the last, started and ended as one."""

import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from genenv import cluster as ray_cluster
from genenv import private_folder
from genenv.cluster_check import look_around, needs_of, refuse_unplaceable
from genenv.device import Device, worker_environment
from genenv.errors import WorkerError
from genenv.forkserver.start import ForkServer
from genenv.hook_nodes import NodeHooks
from genenv.loop.death_watch import DeathWatch
from genenv.node_watch import NodeWatch
from genenv.role.handle import RoleHandle

_START_SECONDS = 900.0


@dataclass
class Stack:
    """The Ray cluster, the fork server and the roles' drivers of one run.

    Attributes:
        logs: the run's folder for logs.
        device: where models run.
        fast_start: fork from a warm server (Linux) instead of starting each process plainly;
            only on a cluster of our own.
        ray_address: the cluster to join; None starts one on this machine.
        variables: more of the environment of every process.
        share: the roles take turns on the same devices.
        hook_bundle: hooks to be run on every node of it; None where they run here only.
        hook_run: names the nodes' sockets, see ``hook_nodes``.
        hook_limits: these hooks' limits, as ``startHookHost`` takes them.
        node_hooks: the hook hosts on the nodes, once they run.
        roles: the started roles by name.
    """

    logs: Path
    device: Device
    fast_start: bool
    ray_address: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    share: bool = False
    hook_bundle: Path | None = None
    hook_run: str = ""
    hook_limits: dict[str, Any] = field(default_factory=dict)
    node_hooks: NodeHooks | None = None
    roles: dict[str, RoleHandle] = field(default_factory=dict)
    _folder: Path | None = None
    _ray_folder: Path | None = None
    _fork_server: ForkServer | None = None
    _cluster: ray_cluster.Cluster | None = None
    _groups: list[str] = field(default_factory=list)
    _nodes: NodeWatch | None = None
    _watch: DeathWatch | None = None

    def start(
        self,
        configs: dict[str, DictConfig],
        stop: threading.Event,
        report: Callable[[str], None],
    ) -> None:
        """Start a role for each configuration, all at once; returns when all can roll out.

        Args:
            configs: complete veRL configuration by role.
            stop: set by the user's Ctrl-C.
            report: told what is being waited for.
        """
        self._folder = Path(os.environ[private_folder.VARIABLE]) / "run"
        self._folder.mkdir(mode=0o700)
        # Directly below: the paths of Ray's sockets are as long as they may be.
        self._ray_folder = self._folder.with_name("ray")
        self.logs.mkdir(parents=True, exist_ok=True)
        environment = worker_environment(self.device, os.cpu_count() or 1)
        environment["PYTHONPATH"] = ray_cluster.python_path()
        environment |= self.variables
        # vLLM's sockets and everybody's temporary files go when the folder goes.
        temporary = self._folder / "tmp"
        temporary.mkdir()
        environment |= {"TMPDIR": str(temporary), "VLLM_RPC_BASE_PATH": str(temporary)}
        run = self.logs.parent
        for name, folder in (("TENSORBOARD_DIR", run / "tensorboard"), ("WANDB_DIR", run)):
            environment[name] = os.environ.get(name, str(folder))
        python = self._start_fork_server(environment)
        self._connect(configs, environment, python, report)
        if self._fork_server is not None:
            report("loading libraries")
            self._fork_server.wait_until_ready()
        report("starting " + " and ".join(configs))
        self._watch = DeathWatch(
            self._fork_server.pid if self._fork_server else None,
            self._cluster.logs if self._cluster else None,
            f"the system ends processes when memory runs out; see {self.logs}, "
            f"and go on with: npx genenv resume {self.logs.parent}",
            self._give_up,
        )
        for role, config in configs.items():
            handle = RoleHandle(role, self._folder, self.logs / f"{role}.log", self._cause)
            self.roles[role] = handle
            handle.start(self._settings(config, environment), python, environment)
            if self.share:
                # The next one finds the devices empty only when this one is asleep.
                handle.wait_until_ready(_START_SECONDS, stop)
        if not self.share:
            for handle in self.roles.values():
                handle.wait_until_ready(_START_SECONDS, stop)

    def _start_fork_server(self, environment: dict[str, str]) -> str | None:
        if not self.fast_start or self.ray_address is not None:
            return None
        assert self._folder is not None
        log = self.logs / "fork-server.log"
        self._fork_server = ForkServer(self._folder, os.environ | environment, log)
        environment["GENENV_FORK_SERVER"] = str(self._fork_server.executable)
        return str(self._fork_server.executable)

    def _connect(
        self,
        configs: dict[str, DictConfig],
        environment: dict[str, str],
        python: str | None,
        report: Callable[[str], None],
    ) -> None:
        needs = needs_of(configs, share=self.share)
        if self.ray_address is not None:
            report(f"joining the Ray cluster at {self.ray_address}")
            self._cluster = ray_cluster.join(self.ray_address, environment, self.hook_bundle)
            self._nodes = NodeWatch(
                ray_cluster.nodes,
                "what was saved is complete; go on with what is left of the cluster: "
                f"npx genenv resume {self.logs.parent}",
                self._give_up,
            )
        else:
            report("starting Ray")
            assert self._ray_folder is not None
            slots = sum(need.nodes * need.devices for need in needs)
            self._cluster = ray_cluster.start_local(
                self._ray_folder,
                environment,
                python,
                devices=slots if self.device == "cpu" else None,
            )
        refuse_unplaceable(needs, look_around)
        if self.share:
            self._groups = ray_cluster.reserve(needs[0], len(configs))
        if self.hook_bundle is not None:
            report("starting the hooks on every node")
            self.node_hooks = NodeHooks.start(self.hook_run, self.hook_limits)

    def _settings(self, config: DictConfig, environment: dict[str, str]) -> dict[str, Any]:
        assert self._cluster is not None
        return {
            "environment": environment,
            "ray_address": self._cluster.address,
            "runtime_env": self._cluster.runtime_env,
            "placement_groups": self._groups,
            "config": OmegaConf.to_container(config, resolve=True),
        }

    def _cause(self) -> WorkerError | None:
        """The death of a process of ours or of a node of the cluster, or None."""
        for watch in (self._watch, self._nodes):
            cause = watch.cause() if watch is not None else None
            if cause is not None:
                return cause
        return None

    def _give_up(self) -> None:
        for handle in self.roles.values():
            handle.give_up()

    def stop(self) -> None:
        """End every process and remove the private folders, however far ``start`` came."""
        for watch in (self._watch, self._nodes):
            if watch is not None:
                watch.stop()
        for handle in self.roles.values():
            handle.ask_to_stop()
        for handle in self.roles.values():
            handle.stop()
        if self.node_hooks is not None:
            self.node_hooks.close()
        if self._cluster is not None:
            ray_cluster.stop(self._cluster, self.logs)
        if self._fork_server is not None:
            self._fork_server.stop()
        for folder in (self._folder, self._ray_folder):
            if folder is not None:
                # Where Ray's own end failed, this is it.
                private_folder.end_processes(folder)
                shutil.rmtree(folder, ignore_errors=True)
