"""From token ids to scores: the hook plane against veRL 0.9.1's reward loop, naive manager."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genenv.device import worker_environment

if TYPE_CHECKING:
    from genenv.hooks import HookClient

_BENCH = Path(__file__).resolve().parent


class RewardLoop:
    """veRL's reward workers, a Ray call a trajectory as its agent loop makes them."""

    def __init__(self, tokenizer_path: str) -> None:
        cores = os.cpu_count() or 1
        environment = worker_environment("cpu", cores)
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        os.environ.update(environment)
        import ray
        from genenv.verl_config import verl_defaults
        from omegaconf import OmegaConf
        from verl.experimental.reward_loop import RewardLoopManager

        ray.init(
            address="local",
            num_cpus=16,
            include_dashboard=False,
            log_to_driver=False,
            runtime_env={"env_vars": environment},
        )
        config = verl_defaults()
        OmegaConf.set_struct(config, False)
        config.actor_rollout_ref.model.path = tokenizer_path
        # veRL's default is 8; on fewer cores they only take turns.
        config.reward.num_workers = min(8, cores)
        config.reward.custom_reward_function.path = str(_BENCH / "boxed_answer.py")
        config.reward.custom_reward_function.name = "compute_score"
        self._ray = ray
        self._workers = RewardLoopManager(config).reward_loop_worker_handles

    def score(self, tokens: list[Any], prompts: list[Any], truths: list[str]) -> list[float]:
        rows = zip(tokens, prompts, truths, strict=True)
        return asyncio.run(self._all(list(rows)))

    async def _all(self, rows: list[tuple[Any, Any, str]]) -> list[float]:
        return await asyncio.gather(*(self._one(*row) for row in rows))

    async def _one(self, response: Any, prompt: Any, truth: str) -> float:
        import numpy as np
        import torch
        from tensordict import TensorDict
        from verl import DataProto

        ids = torch.cat([prompt, response])
        mask = torch.ones_like(ids)
        batch = TensorDict(
            {
                "prompts": prompt[None],
                "responses": response[None],
                "input_ids": ids[None],
                "attention_mask": mask[None],
                "position_ids": torch.arange(len(ids))[None],
            },
            batch_size=1,
        )
        fields = {
            "data_source": np.array(["bench"]),
            "reward_model": np.array([{"ground_truth": truth}], dtype=object),
            "extra_info": np.array([{"index": 0}], dtype=object),
        }
        data = DataProto(batch=batch, non_tensor_batch=fields)
        worker = random.choice(self._workers)
        return float((await worker.compute_score.remote(data))["reward_score"])

    def close(self) -> None:
        self._ray.shutdown()


def plane_path(
    client: HookClient, tokenizer: Any, tokens: list[Any], truths: list[str], tasks: list[str]
) -> list[float]:
    """As the trainer does it: a rollout decoded as one, and scored as one batch."""
    texts = tokenizer.batch_decode(tokens, skip_special_tokens=True)
    return [result.value or 0.0 for result in client.score(texts, truths, tasks)]
