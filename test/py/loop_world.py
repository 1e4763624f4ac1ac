"""A whole run without Ray: roles and hooks whose every answer follows from what they were given.

Two runs of it are equal to the last digit, so that one which was killed and went on can be compared
with one that was not.
"""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from genenv.hooks import Accepted, Decision, Rejected, ScoreResult
from genenv.loop.events import Progress
from genenv.loop.run import Training
from genenv.loop.settings import Settings
from omegaconf import OmegaConf

GENENV: dict[str, Any] = {
    "alpha": 0.5,
    "beta": 5.0,
    "lambda": 5.0,
    "filtering_k": 0.5,
    "filtering_mode": "band",
    "num_generations_per_prompt": 3,
    "env_update": "rwr",
    "success_threshold": 1.0,
    "labels": "environment",
    "label_agreement": 0.5,
    "seed": 23,
    "keep_best": False,
    "pool": {"cap": 6, "seed_fraction": 0.5, "near_duplicate": 0.9},
    "hooks": {
        "on_failure": "abstain",
        "max_failure_rate": 1.0,
        "scoring": "batch",
        "timeout_ms": 1000,
        "batch_timeout_ms": 1000,
        "heap_mb": 64,
        "concurrency": 1,
    },
}


class Killed(BaseException):
    """Stands for the end of the process: nothing may catch it."""


class WorldRole:
    """A model whose weights are one number, which updates move and rollouts depend on."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.weight = 0
        self.steps = 0
        self.updates: list[tuple[list[str], list[float], str | None]] = []
        self.forgotten: list[str] = []
        self.prompts: list[Any] = []
        self._answers: list[Any] = []

    def rollout(
        self, stop: threading.Event, *, prompts: list[Any], n: int, validate: bool = False
    ) -> dict[str, Any]:
        if stop.is_set():
            raise InterruptedError("stopped")
        self.prompts.append(prompts)
        rows = []
        for index, chat in enumerate(prompts):
            for sample in range(n):
                draw = random.Random(f"{self.name} {self.weight} {chat} {sample}")
                text = str(draw.randrange(1000))
                rows.append(
                    {
                        "prompt": index,
                        "key": f"{self.steps}-{index}-{sample}",
                        "tag": {"response_len": len(text)},
                        "text": text,
                        "tokens": len(text),
                    }
                )
        return {"rows": rows, "failed": []}

    def call(self, name: str, **args: Any) -> Any:
        self.send(name, **args)
        return self.collect()

    def send(self, name: str, **args: Any) -> None:
        self._answers.append(getattr(self, f"_{name}")(**args))

    def collect(self) -> Any:
        return self._answers.pop(0)

    def _prompt_lengths(self, chats: list[Any]) -> list[int]:
        return [1 for _ in chats]

    def _forget(self, keys: list[str]) -> None:
        self.forgotten += keys

    def _update(
        self, rows: list[dict[str, Any]], rewards: list[float], estimator: str | None
    ) -> dict[str, Any]:
        self.steps += 1
        self.weight = (self.weight * 31 + int(1000 * sum(rewards)) + len(rows)) % 100_003
        self.updates.append(([row["key"] for row in rows], rewards, estimator))
        return {"metrics": {"actor/lr": 0.5}, "timing": {}, "rows": len(rows), "padding": 0}

    def _save(self, folder: str) -> None:
        Path(folder, "huggingface").mkdir(parents=True)
        Path(folder, "huggingface", "weight.json").write_text(json.dumps(self.weight))
        Path(folder, "step.txt").write_text(str(self.steps))

    def _load(self, folder: str) -> None:
        model = Path(folder).parent.parent / self.name
        self.weight = json.loads((model / "weight.json").read_text())
        self.steps = int(Path(folder, "step.txt").read_text())


class WorldClient:
    """Hooks: an answer's number says how many tasks it holds; a response's whether it is right."""

    def __init__(self, decide: Any = None) -> None:
        self._decide = decide

    def environment_prompts(
        self, seeds: list[Any], epoch: int, target: float, random_seed: int
    ) -> list[Any]:
        return [
            [{"role": "user", "content": f"{epoch} {random_seed} {json.dumps(shown)}"}]
            for shown in seeds
        ]

    def parse(self, answers: list[str], seeds: list[Any]) -> list[list[Accepted | Rejected]]:
        return [self._tasks(int(answer)) for answer in answers]

    def _tasks(self, number: int) -> list[Accepted | Rejected]:
        if number % 5 < 3:
            return [Rejected("not in the mood")]
        count = 9 if number % 10 == 3 else number % 3 + 1
        prompts = [f"task {number + i}" for i in range(count)]
        return [
            Accepted({"prompt": p, "groundTruth": "1"}, [{"role": "user", "content": p}])
            for p in prompts
        ]

    def score(
        self, responses: list[str], ground_truths: list[Any], task_ids: list[str], **_: Any
    ) -> list[ScoreResult]:
        def one(response: str) -> ScoreResult:
            if int(response) % 11 == 0:
                return ScoreResult("abstain", reason="eleven")
            return ScoreResult("score", float(int(response) % 2), None, {})

        return [one(response) for response in responses]

    def alpha_rewards(self, rates: list[Any], alpha: float, beta: float) -> list[float | None]:
        def one(known: list[float | None]) -> float | None:
            values = [1 - abs(rate - alpha) for rate in known if rate is not None]
            return sum(values) / len(values) if values else None if known else 0.0

        return [one(known) for known in rates]

    def select(self, tasks: list[dict[str, Any]], *_: Any) -> list[Decision]:
        if self._decide is not None:
            return [self._decide(task) for task in tasks]
        return [
            Decision(t["id"], 0 < t["successRate"] < 1, t["reward"], "not settled") for t in tasks
        ]


class World:
    """A run folder with data, and the roles of the process that works in it now."""

    def __init__(
        self, folder: Path, *, one_model: bool = False, plain: bool = False, **genenv: Any
    ) -> None:
        self.folder = folder
        self.one_model = one_model
        self.plain = plain
        self.genenv = GENENV | genenv
        self.trainer: dict[str, Any] = {}
        self.filter_groups: dict[str, Any] = {}
        self.batch_size = 10
        self.client = WorldClient()
        self.events: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text("genenv: {}\n")
        for name, count in (("train", 9), ("val", 3)):
            rows = [
                {
                    "prompt": [{"role": "user", "content": f"{name} {i}"}],
                    "reward_model": {"ground_truth": "1"},
                }
                for i in range(count)
            ]
            pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
        self.roles: dict[str, WorldRole] = {}
        self.stop = threading.Event()

    def run(
        self, epochs: int, *, resume: bool = False, kill_at: Any = None, **trainer: Any
    ) -> dict[str, Any]:
        """Run in a fresh process, so to say.

        Args:
            epochs: ``trainer.total_epochs``.
            resume: go on from the folder's newest checkpoint.
            kill_at: called with each event; what it raises ends the run.
            trainer: veRL's ``trainer`` keys.
        """
        names = ["agent"] if self.one_model or self.plain else ["agent", "environment"]
        self.roles = {name: WorldRole(name) for name in names}

        def emit(event: dict[str, Any]) -> None:
            self.events.append(event)
            if kill_at is not None:
                kill_at(event)

        progress = Progress(emit, self.folder / "metrics.jsonl")
        settings = Settings(**self.settings(epochs, resume, trainer))
        self.stop.clear()
        run = Training(settings, self.roles, self.client, progress, self.stop)  # type: ignore[arg-type]
        return run.go()

    def settings(
        self, epochs: int, resume: bool = False, trainer: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """What ``Settings`` takes."""
        keys = {
            "total_epochs": epochs,
            "save_freq": 1,
            "test_freq": 1,
            "val_before_train": True,
            "max_actor_ckpt_to_keep": None,
            "logger": ["console"],
        }
        agent = OmegaConf.create(
            {
                "data": {
                    "train_files": str(self.folder / "train.parquet"),
                    "val_files": str(self.folder / "val.parquet"),
                    "train_batch_size": self.batch_size,
                    "max_prompt_length": 10,
                },
                "actor_rollout_ref": {"rollout": {"n": 4, "val_kwargs": {"n": 1}}},
                "reward": {"custom_reward_function": {"path": None}},
                "algorithm": {
                    "filter_groups": {"enable": False, "metric": "reward", "max_num_gen_batches": 0}
                    | self.filter_groups
                },
                "trainer": keys | (trainer or {}),
            }
        )
        return {
            "run_dir": self.folder,
            "genenv": self.genenv
            | {
                "enable": not self.plain,
                "fast_start": False,
                "ray_address": None,
                "share_gpus": False,
            },
            "configs": {"agent": agent},
            "device": "cpu",
            "hook_address": "unix:/none",
            "hook_token": None,
            "remote_hooks": None,
            "hook_bundle": None,
            "environment_prompts": 2,
            "shares_model": self.one_model,
            "resume": resume,
        }

    # -- what a run leaves -----------------------------------------------------------------------

    def metrics(self) -> list[dict[str, Any]]:
        """Lines of the metrics file without times."""
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        return [
            {k: v for k, v in json.loads(line).items() if k != "time" and "timing" not in k}
            for line in lines
        ]

    def ledger(self) -> list[dict[str, Any]]:
        return pq.read_table(self.folder / "tasks.parquet").to_pylist()

    def rollouts(self) -> dict[str, list[dict[str, Any]]]:
        files = sorted((self.folder / "rollouts").iterdir())
        return {file.name: pq.read_table(file).to_pylist() for file in files}

    def state(self, epoch: int) -> str:
        return (self.folder / "checkpoints" / f"epoch-{epoch}" / "state.json").read_text()

    def everything(self, epoch: int) -> dict[str, Any]:
        """All that two equal runs have in common."""
        return {
            "metrics": self.metrics(),
            "ledger": self.ledger(),
            "rollouts": self.rollouts(),
            "state": self.state(epoch),
            "pool": (self.folder / "checkpoints" / f"epoch-{epoch}" / "pool.jsonl").read_text(),
            "weights": {name: (r.weight, r.steps) for name, r in self.roles.items()},
        }
