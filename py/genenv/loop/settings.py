"""A run's parameters as the loop uses them, from JSON that TypeScript resolved and checked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from genenv.device import Device, resolve_device
from genenv.verl_config import check_batch_arithmetic, role_config


@dataclass(frozen=True)
class Settings:
    """What one run does.

    Attributes:
        run_dir: the run's folder.
        genenv: the ``genenv`` section, every default filled in.
        configs: complete veRL configuration by role; ``environment`` is absent in plain GRPO.
        device: where models run.
        hook_address: where the hook host listens; "" while it isn't up.
        hook_token: its token, None on a Unix socket.
        remote_hooks: the same host's address and token for other nodes; None where none need it.
        hook_bundle: folder with all hooks, to be run on every node; None where they run here only.
        environment_prompts: prompts the environment model answers in an epoch; what TypeScript
            made of ``genenv.env`` and the agent's batch (``sdk/config/environment-overlay.ts``).
        shares_model: one model plays both roles (``env_model_path: agent``).
        resume: go on from the run folder's last checkpoint.
    """

    run_dir: Path
    genenv: dict[str, Any]
    configs: dict[str, DictConfig]
    device: Device
    hook_address: str
    hook_token: str | None
    remote_hooks: tuple[str, str] | None
    hook_bundle: Path | None
    environment_prompts: int
    shares_model: bool
    resume: bool

    @property
    def agent(self) -> DictConfig:
        return self.configs["agent"]

    @property
    def shares_devices(self) -> bool:
        """Whether two trainers take turns on the same devices."""
        return bool(self.genenv["share_gpus"]) and len(self.configs) > 1

    @property
    def hook_limits(self) -> dict[str, int]:
        """The hooks' limits under the names of the hook host's own."""
        hooks = self.genenv["hooks"]
        return {
            "timeoutMs": hooks["timeout_ms"],
            "batchTimeoutMs": hooks["batch_timeout_ms"],
            "heapMb": hooks["heap_mb"],
            "concurrency": hooks["concurrency"],
        }

    @property
    def batch_size(self) -> int:
        """Tasks an agent batch holds."""
        return int(self.agent.data.train_batch_size)

    @property
    def responses_per_task(self) -> int:
        """Size of a GRPO group (n)."""
        return int(self.agent.actor_rollout_ref.rollout.n)


def from_params(params: dict[str, Any]) -> Settings:
    """Build settings from the job's parameters.

    Raises:
        ConfigError: a key veRL does not know, or batch sizes it cannot divide.
    """
    genenv = params["genenv"]
    device = resolve_device(genenv["device"])
    shares_model = bool(genenv["enable"]) and params.get("envModelPath") == "agent"
    separate = genenv["enable"] and not shares_model
    roles = ["agent", "environment"] if separate else ["agent"]
    hooks = params["hooks"] or {"address": ""}
    remote, bundle = hooks.get("remote"), hooks.get("bundle")
    configs = {}
    for role in roles:
        configs[role] = role_config(
            role,
            params["verl"][role],
            device=device,
            genenv=genenv,
            added=params["verl"]["added"],
            deleted=params["verl"]["deleted"],
        )
        check_batch_arithmetic(role, configs[role])
        trainer = configs[role].trainer
        trainer.total_training_steps = trainer.total_epochs * _updates_per_epoch(
            shares_model, genenv
        )
    return Settings(
        run_dir=Path(params["runDir"]),
        genenv=genenv,
        configs=configs,
        device=device,
        hook_address=hooks["address"],
        hook_token=hooks.get("token"),
        remote_hooks=(remote["address"], remote["token"]) if remote else None,
        hook_bundle=Path(bundle) if bundle else None,
        environment_prompts=int(params["verl"]["environment"]["data"]["train_batch_size"]),
        shares_model=shares_model,
        resume=bool(params.get("resume", False)),
    )


def _updates_per_epoch(shares_model: bool, genenv: dict[str, Any]) -> int:
    """Steps of a trainer in an epoch, by which its learning rate is scheduled."""
    return 2 if shares_model and genenv["env_update"] != "none" else 1
