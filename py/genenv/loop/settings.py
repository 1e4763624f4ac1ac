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
        hook_address: where the hook host listens.
        hook_token: its token, None on a Unix socket.
        resume: go on from the run folder's last checkpoint.
    """

    run_dir: Path
    genenv: dict[str, Any]
    configs: dict[str, DictConfig]
    device: Device
    hook_address: str
    hook_token: str | None
    resume: bool

    @property
    def agent(self) -> DictConfig:
        return self.configs["agent"]

    @property
    def batch_size(self) -> int:
        """Tasks an agent batch holds."""
        return int(self.agent.data.train_batch_size)

    @property
    def responses_per_task(self) -> int:
        """Size of a GRPO group (n)."""
        return int(self.agent.actor_rollout_ref.rollout.n)

    @property
    def environment_prompts(self) -> int:
        """Prompts the environment model answers in an epoch."""
        return int(self.configs["environment"].data.train_batch_size)


def from_params(params: dict[str, Any]) -> Settings:
    """Build settings from the job's parameters.

    Raises:
        ConfigError: a key veRL does not know, or batch sizes it cannot divide.
    """
    genenv = params["genenv"]
    device = resolve_device(genenv["device"])
    roles = ["agent", "environment"] if genenv["enable"] else ["agent"]
    configs = {}
    for role in roles:
        overlay = dict(params["verl"][role])
        configs[role] = role_config(
            role,
            _environment_overlay(overlay, params) if role == "environment" else overlay,
            device=device,
            genenv=genenv,
            added=params["verl"]["added"],
            deleted=params["verl"]["deleted"],
        )
        check_batch_arithmetic(role, configs[role])
    return Settings(
        run_dir=Path(params["runDir"]),
        genenv=genenv,
        configs=configs,
        device=device,
        hook_address=params["hooks"]["address"],
        hook_token=params["hooks"].get("token"),
        resume=bool(params.get("resume", False)),
    )


def _environment_overlay(overlay: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """The environment's answers to a prompt are its group; its batch is its prompts of one epoch.

    What ``genenv.env`` does not name is sized so that the answers about fill the agent's batch.
    """
    answers = int(params["genenv"]["num_generations_per_prompt"])
    named = params["genenv"].get("env", {})
    tree = _copy(overlay)
    root = tree.setdefault("actor_rollout_ref", {})
    root.setdefault("rollout", {})["n"] = answers
    if params.get("envModelPath") not in (None, "agent"):
        root.setdefault("model", {})["path"] = params["envModelPath"]
    prompts = _named(named, "data", "train_batch_size")
    if prompts is None:
        agent_batch = int(params["verl"]["agent"].get("data", {}).get("train_batch_size", answers))
        prompts = max(1, agent_batch // answers)
        tree.setdefault("data", {})["train_batch_size"] = prompts
    if _named(named, "actor_rollout_ref", "actor", "ppo_mini_batch_size") is None:
        root.setdefault("actor", {})["ppo_mini_batch_size"] = prompts
    return tree


def _named(tree: dict[str, Any], *path: str) -> Any:
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree


def _copy(tree: Any) -> Any:
    return {k: _copy(v) for k, v in tree.items()} if isinstance(tree, dict) else tree
