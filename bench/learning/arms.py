"""Trains the learning bench's arms, one after another, on one kept-up stack.

``python arms.py JOB.json``, where the job has ``params`` (a run's, as TypeScript resolved it),
``folder``, ``seeds``, ``arms`` and ``measureEvery``. Each arm starts from the same saved weights,
with fresh optimisers; its result is FOLDER/results/ARM-SEED.json, and an arm that has one is not
trained again. The loop, the trainers and the rollouts are genenv's own.
"""

import copy
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from genenv import private_folder
from genenv.hooks import HookClient
from genenv.loop.checkpoint import load_roles
from genenv.loop.events import Progress
from genenv.loop.files import write_text
from genenv.loop.run import Training
from genenv.loop.scoring import score_groups
from genenv.loop.settings import Settings, from_params
from genenv.loop.stack import Stack
from genenv.loop.tasks import Task
from genenv.role.handle import RoleHandle

# Each arm's environment role, None where it has none. Frozen: a role that is not updated.
ENVIRONMENTS = {"start": None, "static": None, "frozen": "rwr", "rwr": "rwr", "grpo": "grpo"}
MEASURED_TASKS, MEASURED_RESPONSES = 12, 32


@dataclass
class MeasuredAgent:
    """The agent's handle; in some epochs it also measures the batch, with rollouts of its own.

    They are made just before the update, by the weights that the tasks' p-hat is of, and are not
    trained on.
    """

    handle: RoleHandle
    client: HookClient
    every: int
    epoch: int = 0
    rates: dict[int, dict[str, float]] = field(default_factory=dict)
    seconds: float = 0.0
    rollouts: int = 0

    def rollout(self, stop: threading.Event, **args: Any) -> dict[str, Any]:
        started = time.monotonic()
        result = self.handle.rollout(stop, **args)
        if args.get("validate"):
            self.seconds += time.monotonic() - started
            return result
        self.epoch += 1
        self.rollouts += len(result["rows"])
        if self.every and (self.epoch == 1 or self.epoch % self.every == 0):
            started = time.monotonic()
            # An epoch's new tasks stand first in its batch, in the order they were written.
            self.rates[self.epoch] = self._measure(stop, args["prompts"][:MEASURED_TASKS])
            self.seconds += time.monotonic() - started
        return result

    def _measure(
        self, stop: threading.Event, prompts: list[list[dict[str, str]]]
    ) -> dict[str, float]:
        """Success rate by prompt's text."""
        rollout = self.handle.rollout(stop, prompts=prompts, n=MEASURED_RESPONSES, validate=True)
        tasks = [_task_of(index, prompt) for index, prompt in enumerate(prompts)]
        groups = score_groups(
            self.client, tasks, rollout["rows"], success_threshold=1.0, on_failure="abstain"
        )
        rates = {group.task.prompt_text: group.success_rate for group in groups}
        return {text: rate for text, rate in rates.items() if rate is not None}

    def send(self, call: str, **args: Any) -> None:
        self.handle.send(call, **args)

    def collect(self) -> Any:
        return self.handle.collect()

    def call(self, name: str, **args: Any) -> Any:
        return self.handle.call(name, **args)


def _task_of(index: int, messages: list[dict[str, str]]) -> Task:
    totals = list(accumulate(map(int, messages[-1]["content"].split("+"))))
    truth = " ".join(map(str, totals[1:]))
    return Task(f"measured-{index}", "seed", messages, truth, {})


def arm_params(params: dict[str, Any], arm: str, seed: int, run_dir: Path) -> dict[str, Any]:
    """The run's parameters of one arm: only what tells it from the others differs."""
    mine = copy.deepcopy(params)
    mine["runDir"] = str(run_dir)
    mine["genenv"]["seed"] = seed
    mine["genenv"]["enable"] = ENVIRONMENTS[arm] is not None
    mine["genenv"]["env_update"] = {"frozen": "none"}.get(arm, ENVIRONMENTS[arm] or "none")
    return mine


def train_arm(
    settings: Settings,
    roles: dict[str, RoleHandle],
    client: HookClient,
    *,
    measure_every: int,
) -> dict[str, Any]:
    """One arm from the first epoch to the last; gives what it measured."""
    agent = MeasuredAgent(roles["agent"], client, measure_every)
    started = time.monotonic()
    progress = Progress(lambda event: None, settings.run_dir / "metrics.jsonl")
    watched: dict[str, Any] = {**roles, "agent": agent}
    result = Training(settings, watched, client, progress, threading.Event()).go()
    lines = (settings.run_dir / "metrics.jsonl").read_text().splitlines()
    seconds = time.monotonic() - started
    return {
        "epochs": result["epochs"],
        "rollouts": agent.rollouts,
        "seconds": round(seconds, 1),
        "trainingSeconds": round(seconds - agent.seconds, 1),
        "validation": _curve(lines, "validation", "val/"),
        "environment": _curve(lines, "environment", "env/", "tasks/"),
        "agent": _curve(lines, "agent", "agent/reward_mean", "agent/groups_without_signal"),
        "gap": _gaps(settings, agent.rates),
    }


def _curve(lines: list[str], phase: str, *prefixes: str) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in lines]
    return [
        {"epoch": row["epoch"]} | {k: v for k, v in row.items() if k.startswith(prefixes)}
        for row in rows
        if row["phase"] == phase
    ]


def _gaps(settings: Settings, rates: dict[int, dict[str, float]]) -> list[dict[str, Any]]:
    """For each measured epoch, mean |p-hat - alpha| of the tasks written in it."""
    alpha = settings.genenv["alpha"]
    ledger = pq.read_table(settings.run_dir / "tasks.parquet").to_pylist() if rates else []
    gaps = []
    for epoch, by_text in rates.items():
        new = [
            row["prompt"]
            for row in ledger
            if row["epoch"] == epoch
            and row["written_epoch"] == epoch
            and row["responses"]
            and row["source"] == "environment"
        ]
        measured = [by_text[text] for text in new if text in by_text]
        if measured:
            gaps.append(
                {
                    "epoch": epoch,
                    "tasks": len(measured),
                    "gap": sum(abs(rate - alpha) for rate in measured) / len(measured),
                    "successRate": sum(measured) / len(measured),
                    "terms": sum(text.count("+") + 1 for text in new) / len(new),
                }
            )
    return gaps


def main(job_file: Path) -> None:
    job = json.loads(job_file.read_text())
    folder = Path(job["folder"])
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    wanted = [("start", job["seeds"][0])]
    wanted += [(arm, seed) for seed in job["seeds"] for arm in job["arms"]]
    todo = [(arm, seed) for arm, seed in wanted if not (results / f"{arm}-{seed}.json").is_file()]
    if not todo:
        return
    # A session's Python gets it from Node; Ray's sockets lie in it, so that its path is short.
    with tempfile.TemporaryDirectory(prefix="genenv-") as private:
        os.environ[private_folder.VARIABLE] = private
        try:
            train_arms(job, todo, results)
        finally:
            private_folder.end_processes(Path(private))


def train_arms(job: dict[str, Any], todo: list[tuple[str, int]], results: Path) -> None:
    """Train each arm that has no result yet, on one stack."""
    folder = Path(job["folder"])
    rwr = from_params(arm_params(job["params"], "rwr", 0, folder / "stack"))
    grpo = from_params(arm_params(job["params"], "grpo", 0, folder / "stack"))
    stack = Stack(folder / "stack" / "logs", rwr.device, rwr.genenv["fast_start"])
    configs = {
        "agent": rwr.configs["agent"],
        "rwr": rwr.configs["environment"],
        "grpo": grpo.configs["environment"],
    }
    try:
        started = time.monotonic()
        stack.start(configs, threading.Event(), lambda text: _say(text))
        _say(f"started in {time.monotonic() - started:.0f} s")
        initial = folder / "stack" / "initial"
        for name, role in stack.roles.items():
            role.call("save", folder=str(initial / "trainer" / name))
        with HookClient(rwr.hook_address, rwr.hook_token) as client:
            for arm, seed in todo:
                load_roles(initial, stack.roles)
                run_dir = folder / "arms" / f"{arm}-{seed}"
                shutil.rmtree(run_dir, ignore_errors=True)
                run_dir.mkdir(parents=True)
                settings = from_params(arm_params(job["params"], arm, seed, run_dir))
                if arm == "start":
                    settings.agent.trainer.total_epochs = 0
                environment = ENVIRONMENTS[arm]
                roles = {"agent": stack.roles["agent"]}
                if environment is not None:
                    roles["environment"] = stack.roles[environment]
                result = train_arm(
                    replace(settings, resume=False),
                    roles,
                    client,
                    measure_every=job["measureEvery"] if environment else 0,
                )
                text = json.dumps({"arm": arm, "seed": seed} | result)
                write_text(results / f"{arm}-{seed}.json", text)
                shutil.rmtree(run_dir / "checkpoints", ignore_errors=True)
                print(text, flush=True)
    finally:
        stack.stop()


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
