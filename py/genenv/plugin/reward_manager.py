"""The hooks' reward in veRL 0.9.1's reward workers, while others still generate.

Extension point: ``reward.reward_manager`` with ``source: importlib``. veRL calls ``run_single`` for
each trajectory in a Ray actor on some node; what comes at about the same time goes to the hook
plane together. The result reaches the loop whole, under ``FIELD`` of ``reward_extra_info``: veRL
itself knows no abstention and no failure, only a number.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from omegaconf import DictConfig
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from genenv.errors import GenEnvError
from genenv.loop.overlap import FIELD, TASK_COLUMN, hooks_of_environment, score_trajectories
from genenv.loop.python_reward import Scorer, load_python_reward
from genenv.micro_batch import MicroBatcher

# Connections to the hook plane, each with one batch under way; a slow reward fills them all.
_LANES = 4
_MAX_ROWS = 256


class HookRewardManager(RewardManagerBase):
    """Scores trajectories with the TypeScript reward, or with the run's Python one."""

    def __init__(
        self,
        config: DictConfig,
        tokenizer: Any,
        compute_score: Any,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        self._python = load_python_reward(config)
        self._scorers: dict[int, Scorer] = {}
        self._batches = MicroBatcher(self._score, lanes=_LANES, max_rows=_MAX_ROWS)

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """veRL's number, and in ``reward_extra_info`` the parts by name and the whole result."""
        item = data[-1:]
        task = item.non_tensor_batch[TASK_COLUMN][0]
        if not task:
            # The environment's answers, where one model has both roles: the loop rewards them.
            return {"reward_score": 0.0, "reward_extra_info": {}}
        tokens = item.batch["responses"][0][: int(item.non_tensor_batch["response_len"][0])]
        told = await self._batches.submit((tokens.tolist(), task))
        parts = told.get("metrics") or {}
        return {
            "reward_score": float(told.get("value") or 0.0),
            "reward_extra_info": {**parts, FIELD: json.dumps(told)},
        }

    def _score(self, lane: int, items: Sequence[tuple[list[int], str]]) -> Sequence[dict[str, Any]]:
        texts = self.tokenizer.batch_decode([ids for ids, _ in items], skip_special_tokens=True)
        try:
            results = score_trajectories(self._scorer(lane), texts, [task for _, task in items])
        except GenEnvError as error:
            # Raised here, veRL would only drop the prompt; the loop raises it again.
            told = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
            return [told] * len(items)
        return [result.to_json() for result in results]

    def _scorer(self, lane: int) -> Scorer:
        if self._python is not None:
            return self._python
        if lane not in self._scorers:
            self._scorers[lane] = hooks_of_environment()
        return self._scorers[lane]
