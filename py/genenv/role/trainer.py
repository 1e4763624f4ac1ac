"""A veRL 0.9.1 V1 trainer driven from outside: ``rollout``, then ``update`` with given rewards.

Extension point: ``register_trainer`` on a subclass of ``PPOTrainerSync``. ``fit`` is never called;
the steps below are veRL's own ``_step_once`` with sampling and scoring taken out, since the loop
decides what is rolled out and the TypeScript hooks score it.
"""

import contextlib
import math
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import transfer_queue as tq
from omegaconf import DictConfig, OmegaConf, open_dict
from ray.util.placement_group import PlacementGroup
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.single_controller.ray.base import (
    RayResourcePool,
    ResourcePoolManager,
    sort_placement_group_by_node_ip,
)
from verl.trainer.ppo.v1 import AgentLoopManagerTQ
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.utils.debug import marked_timer
from verl.utils.tracking import Tracking

from genenv.loop.overlap import TASK_COLUMN, told_score
from genenv.verl_config import trackers

TRAINER_NAME = "genenv_role"
_POLL_SECONDS = 0.02
_FINAL = ("finished", "failure")
_STEP = "step.txt"


class _EmptyLoader:
    """Stands where veRL expects data loaders: the loop owns the data, and its state."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""


@dataclass
class _GivenPools(ResourcePoolManager):
    """Resource pools on placement groups that are there already, and shared with another role.

    A worker takes a third of its bundle's device (``max_colocate_count``), so that two roles fit.
    """

    groups: list[PlacementGroup] = field(default_factory=list)

    def create_resource_pool(self) -> None:
        for name, process_on_nodes in self.resource_pool_spec.items():
            pool = RayResourcePool(
                process_on_nodes=process_on_nodes,
                use_gpu=True,
                max_colocate_count=self.max_colocate_count,
                name_prefix=name,
            )
            pool.pgs = sort_placement_group_by_node_ip(self.groups)
            self.resource_pool_dict[name] = pool


@register_trainer(TRAINER_NAME)
class RoleTrainer(PPOTrainerSync):
    """One model with its actor, rollout engine and (if the KL weight needs it) reference policy."""

    def __init__(self, config: DictConfig) -> None:
        super().__init__(config)
        # veRL branches on the mode's name when it submits, saves and loads: we are synchronous.
        self.trainer_mode = "sync"
        self.prev_step_profile = self.curr_step_profile = self.next_step_profile = False
        self.timing_raw: dict[str, float] = {}
        # Asked while a rollout is waited for; the driver answers from its channel.
        self.is_cancelled: Callable[[], bool] = lambda: False
        self._tracking: Tracking | None = None
        # Set before start() where roles take turns on the same devices.
        self.placement_groups: list[PlacementGroup] = []
        # Whether the rollout engine has this trainer's weights.
        self._awake = False

    # -- veRL's own construction, without data and without reward workers --------------------------

    def _init_dataloader(self) -> None:
        self.train_dataloader = self.val_dataloader = _EmptyLoader()
        self.steps_per_epoch = 1
        self.total_training_steps = self.config.trainer.total_training_steps
        with open_dict(self.config):
            self.config.actor_rollout_ref.actor.optim.total_training_steps = (
                self.total_training_steps
            )

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        if self.placement_groups:
            self.resource_pool_manager = _GivenPools(
                resource_pool_spec=self.resource_pool_manager.resource_pool_spec,
                mapping=self.resource_pool_manager.mapping,
                groups=self.placement_groups,
            )

    def on_init_end(self) -> None:
        """The engine gets its weights; where devices are shared, when its turn comes."""
        if not self.placement_groups:
            self._wake()

    def _wake(self) -> None:
        """Give the rollout engine the trainer's weights, which brings it up where it slept."""
        self.checkpoint_manager.update_weights(self.global_steps)
        self._awake = True

    def _sleep(self) -> None:
        """Free what the rollout engine holds of the devices."""
        if self._awake:
            self.checkpoint_manager.sleep_replicas()
            self._awake = False

    def get_reward_handles(self) -> list[Any] | None:
        """No reward workers means: roll out without scoring."""
        return super().get_reward_handles() or None

    def start(self) -> None:
        """Build all workers and the agent loop; returns when a rollout can be asked for."""
        self.init()
        self.agent_loop_manager = AgentLoopManagerTQ.create(
            config=self.config,
            llm_client=self.get_llm_client(),
            teacher_client=None,
            reward_loop_worker_handles=self.get_reward_handles(),
        )
        ray.get([w.__ray_ready__.remote() for w in self.agent_loop_manager.agent_loop_workers])

    # -- the split step ----------------------------------------------------------------------------

    def rollout(
        self,
        prompts: list[list[dict[str, str]]],
        n: int,
        *,
        tasks: list[str] | None = None,
        validate: bool = False,
        timeout_s: float = 3600.0,
    ) -> dict[str, Any] | None:
        """Generate ``n`` responses to each prompt.

        Args:
            prompts: P chats, each a list of ``{"role", "content"}``.
            n: responses a prompt.
            tasks: P tasks as ``genenv.loop.overlap`` writes them, where reward workers are to score
                each response as it comes (``genenv.hooks.scoring: overlap``).
            validate: sample as ``rollout.val_kwargs`` says instead of as in training.
            timeout_s: give up after this long.

        Returns:
            None if it was cancelled. Else ``rows``: P x n rows in prompt order, each ``{"prompt",
            "key", "tag", "text", "tokens"}`` where ``prompt`` is the index into ``prompts``, with
            ``tasks`` also ``"score"``, what the reward worker told; and ``failed``: indices of
            prompts that veRL could not roll out.
        """
        if not self._awake:
            self._wake()
        try:
            return self._roll_out(prompts, n, tasks, validate, timeout_s)
        finally:
            if self.placement_groups:
                self._sleep()

    def _roll_out(
        self,
        prompts: list[list[dict[str, str]]],
        n: int,
        tasks: list[str] | None,
        validate: bool,
        timeout_s: float,
    ) -> dict[str, Any] | None:
        partition = "val" if validate else "train"
        uids = [uuid.uuid4().hex for _ in prompts]
        tags = [
            {"is_prompt": True, "status": "pending", "global_steps": self.global_steps}
            for _ in uids
        ]
        tq.kv_batch_put(keys=uids, partition_id=partition, tags=tags)
        self.agent_loop_manager.generate_sequences(
            self._prompt_batch(prompts, uids, n, validate, tasks)
        )
        tags = self._wait_for(uids, partition, timeout_s)
        if tags is None:
            return None
        failed = [i for i, uid in enumerate(uids) if tags[uid]["status"] == "failure"]
        tq.kv_clear(keys=uids, partition_id=partition)
        order = {uid: i for i, uid in enumerate(uids)}
        keys = sorted(
            (k for k, tag in tags.items() if not tag.get("is_prompt") and k.split("_")[0] in order),
            key=lambda k: (order[k.split("_")[0]], int(k.split("_")[1])),
        )
        rows: list[dict[str, Any]] = []
        if keys:
            names = ["responses"] if tasks is None else ["responses", "extra_fields"]
            data = tq.kv_batch_get(keys=keys, partition_id=partition, select_fields=names)
            responses = list(data["responses"].unbind())
            texts = self.tokenizer.batch_decode(responses, skip_special_tokens=True)
            for key, text, tokens in zip(keys, texts, responses, strict=True):
                rows.append(
                    {
                        "prompt": order[key.split("_")[0]],
                        "key": key,
                        "tag": tags[key],
                        "text": text,
                        "tokens": len(tokens),
                    }
                )
            if tasks is not None:
                for row, extra in zip(rows, tu.get(data, "extra_fields"), strict=True):
                    row["score"] = told_score(extra)
            if validate:
                tq.kv_clear(keys=keys, partition_id=partition)
        return {"rows": rows, "failed": failed}

    def _prompt_batch(
        self,
        prompts: list[list[dict[str, str]]],
        uids: list[str],
        n: int,
        validate: bool,
        tasks: list[str] | None,
    ) -> TensorDict:
        count = len(prompts)
        fields = {
            "raw_prompt": _objects(prompts),
            "uid": _objects(uids),
            "index": _objects(list(range(count))),
            "data_source": _objects(["genenv"] * count),
            "reward_model": _objects([{"style": "rule", "ground_truth": ""}] * count),
            "extra_info": _objects([{"index": i} for i in range(count)]),
            "__rollout_n__": _objects([n] * count),
        }
        if self.get_reward_handles() is not None:
            fields[TASK_COLUMN] = _objects(tasks or [""] * count)
        batch = tu.get_tensordict(fields)
        if validate:
            tu.assign_non_tensor_data(batch, "validate", True)
        tu.assign_non_tensor_data(batch, "global_steps", self.global_steps)
        return batch

    def _wait_for(
        self, uids: list[str], partition: str, timeout_s: float
    ) -> dict[str, dict[str, Any]] | None:
        """Poll for these prompts only; veRL's replay buffer would take anybody's finished one."""
        deadline = time.monotonic() + timeout_s
        while True:
            asked = time.monotonic()
            tags = tq.kv_list(partition).get(partition, {})
            took = time.monotonic() - asked
            states = [tags[uid]["status"] for uid in uids if uid in tags]
            if len(states) == len(uids) and all(state in _FINAL for state in states):
                return tags
            if self.is_cancelled():
                return None
            if time.monotonic() > deadline:
                done = sum(state in _FINAL for state in states)
                raise TimeoutError(
                    f"rollout: {done} of {len(uids)} prompts finished in {timeout_s} s"
                )
            # The answer holds every row of the batch: a large one is asked for less often.
            time.sleep(max(_POLL_SECONDS, 4 * took))

    def update(
        self, rows: list[dict[str, Any]], rewards: list[float], estimator: str | None = None
    ) -> dict[str, Any]:
        """One training step on rows of an earlier ``rollout``, with a reward for each.

        Args:
            rows: ``{"key", "tag"}`` of the responses to train on.
            rewards: one finite number a row; it becomes the reward of the last response token.
            estimator: advantage estimator in place of the configured one, where one model has
                both roles.

        Returns:
            ``metrics`` (veRL's names), ``timing`` in seconds by part, and counts of ``rows`` and
            ``padding``.
        """
        metrics: dict[str, Any] = {}
        self.timing_raw = {}
        self.global_steps += 1
        keys = [row["key"] for row in rows]
        batch = KVBatchMeta(partition_id="train", keys=keys, tags=[row["tag"] for row in rows])
        batch.extra_info["temperature"] = self.config.actor_rollout_ref.rollout.temperature
        _write_rewards(keys, [row["tag"]["response_len"] for row in rows], rewards)
        self._sleep()
        with self._configured_for(len(keys), estimator):
            batch = self._train_on(batch, metrics)
        if not self.placement_groups:
            with marked_timer("update_weights", self.timing_raw):
                self._wake()
        self.forget(batch.keys)
        return {
            "metrics": _finite_scalars(metrics),
            "timing": {k: float(v) for k, v in self.timing_raw.items()},
            "rows": len(keys),
            "padding": len(batch.keys) - len(keys),
        }

    def _train_on(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        """veRL's own parts of a step, from scored rows to new weights of the actor."""
        with marked_timer("balance", self.timing_raw):
            batch = self._balance_batch(batch, metrics=metrics)
        with marked_timer("old_log_prob", self.timing_raw):
            batch = self._compute_old_log_prob(batch, metrics=metrics)
        if self.use_reference_policy:
            with marked_timer("ref", self.timing_raw):
                batch = self._compute_ref_log_prob(batch, metrics=metrics)
        with marked_timer("adv", self.timing_raw):
            batch = self._compute_advantage(batch, metrics=metrics)
        with marked_timer("update_actor", self.timing_raw):
            return self._update_actor(batch, metrics=metrics)

    @contextlib.contextmanager
    def _configured_for(self, rows: int, estimator: str | None) -> Iterator[None]:
        """The configuration for one update, and the configured one again afterwards.

        Rows that fit one mini-batch become one of just their size: veRL would fill it up with
        synthetic rows, each as costly as a real one.
        """
        root, algorithm = self.config.actor_rollout_ref, self.config.algorithm
        saved = root.actor.ppo_mini_batch_size, root.rollout.n, algorithm.adv_estimator
        if rows <= saved[0] * saved[1]:
            workers = self.config.trainer.n_gpus_per_node * self.config.trainer.nnodes
            root.actor.ppo_mini_batch_size = math.ceil(rows / workers) * workers
            root.rollout.n = 1
        if estimator is not None:
            algorithm.adv_estimator = estimator
        try:
            yield
        finally:
            root.actor.ppo_mini_batch_size, root.rollout.n, algorithm.adv_estimator = saved

    def prompt_lengths(self, chats: list[list[dict[str, str]]]) -> list[int]:
        """Tokens of each chat under the model's template, with the assistant's opening."""
        template = dict(self.config.data.get("apply_chat_template_kwargs") or {})
        return [
            len(
                self.tokenizer.apply_chat_template(
                    chat, add_generation_prompt=True, return_dict=False, **template
                )
            )
            for chat in chats
        ]

    def track(self, values: dict[str, float], step: int) -> None:
        """Hand numbers to veRL's trackers (``trainer.logger``: tensorboard, wandb, ...)."""
        if self._tracking is None:
            trainer = self.config.trainer
            self._tracking = Tracking(
                project_name=trainer.project_name,
                experiment_name=trainer.experiment_name,
                default_backend=trackers(self.config),
                config=OmegaConf.to_container(self.config, resolve=True),
            )
        self._tracking.log(data=values, step=step)

    def finish(self) -> None:
        """Let the trackers write what they hold."""
        if self._tracking is not None:
            self._tracking.finish()

    def forget(self, keys: list[str]) -> None:
        """Free rollouts that will not be trained on."""
        if keys:
            tq.kv_clear(keys=list(keys), partition_id="train")

    # -- checkpoints -------------------------------------------------------------------------------

    def save(self, folder: str) -> None:
        """Write weights (also a transformers folder), optimiser, schedule, random state and step.

        Args:
            folder: where to; every worker must see it.
        """
        self.actor_rollout_wg.save_checkpoint(
            folder, None, self.global_steps, max_ckpt_to_keep=None
        )
        (Path(folder) / _STEP).write_text(str(self.global_steps))

    def load(self, folder: str) -> None:
        """Restore what ``save`` wrote, and bring the rollout engine to the same weights."""
        self._sleep()
        self.actor_rollout_wg.load_checkpoint(local_path=folder, del_local_after_load=False)
        self.global_steps = int((Path(folder) / _STEP).read_text())
        if not self.placement_groups:
            self._wake()


def _objects(values: list[Any]) -> np.ndarray:
    """A 1-D object array; numpy would otherwise turn equal-length lists into a matrix."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _write_rewards(keys: list[str], response_lengths: list[int], rewards: list[float]) -> None:
    """Put each reward in the last token of its response, as veRL's own scoring does."""
    rows = []
    for length, reward in zip(response_lengths, rewards, strict=True):
        row = torch.zeros(length, dtype=torch.float32)
        row[-1] = reward
        rows.append(row)
    scores = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    fields = TensorDict({"rm_scores": scores}, batch_size=len(rows))
    tq.kv_batch_put(keys=keys, partition_id="train", fields=fields)


def _finite_scalars(metrics: dict[str, Any]) -> dict[str, float]:
    """Single finite numbers; what is not finite is reported under ``<name>/not_finite`` = 1."""
    out: dict[str, float] = {}
    for name, value in metrics.items():
        if not np.isscalar(value) and getattr(value, "ndim", 1) != 0:
            continue
        number = float(value)
        if np.isfinite(number):
            out[name] = number
        else:
            out[f"{name}/not_finite"] = 1.0
    return out
