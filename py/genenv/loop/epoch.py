"""One co-evolution epoch on one set of rollouts (GenEnv, arXiv 2512.19682).

Environment prompts -> answers -> tasks -> the agent's batch -> responses -> scores. These responses
are the agent's GRPO batch and give each task's success rate, from which the environment's rewards
follow.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from genenv.errors import HookError, WorkerError
from genenv.hooks import Decision, HookClient
from genenv.loop import refill, scoring
from genenv.loop.batch import Batch, fill_batch
from genenv.loop.events import Progress
from genenv.loop.failures import refuse_failures
from genenv.loop.generation import Generation, generate, parse, pick_seeds
from genenv.loop.labels import score_with_labels
from genenv.loop.ledger import Entry, Ledger
from genenv.loop.metrics import (
    agent_metrics,
    curriculum_metrics,
    environment_metrics,
    update_metrics,
)
from genenv.loop.overlap import ALL_COLUMNS, task_texts
from genenv.loop.python_reward import Scorer
from genenv.loop.record import Rewards, answer_rows, ledger_entries, response_rows
from genenv.loop.rollouts import write_rollouts
from genenv.loop.scoring import Group
from genenv.loop.settings import Settings
from genenv.loop.state import LoopState
from genenv.loop.tasks import Task
from genenv.role.handle import RoleHandle
from genenv.verl_config import RWR


@dataclass
class Timer:
    """Seconds by part, all of an epoch's together, for ``timing_s/...``."""

    seconds: dict[str, float]

    def measure(self, name: str, work: Callable[[], Any]) -> Any:
        started = time.monotonic()
        result = work()
        key = f"timing_s/{name}"
        self.seconds[key] = self.seconds.get(key, 0.0) + time.monotonic() - started
        return result


class EpochRunner:
    """Runs epochs; owns no state of its own."""

    def __init__(
        self,
        settings: Settings,
        roles: dict[str, RoleHandle],
        client: HookClient,
        scorer: Scorer,
        seed_tasks: list[Task],
        state: LoopState,
        ledger: Ledger,
        progress: Progress,
        stop: threading.Event,
    ) -> None:
        self._settings = settings
        self._agent = roles["agent"]
        self._environment = roles["agent"] if settings.shares_model else roles.get("environment")
        self._client = client
        self._scorer = scorer
        self._seed_tasks = seed_tasks
        self._state = state
        self._ledger = ledger
        self._progress = progress
        self._stop = stop
        # Whether the epoch under way has begun to update a model.
        self.models_changed = False

    def run(self, epoch: int) -> None:
        """One epoch, start to end; the state is that of the finished epoch afterwards.

        Raises:
            InterruptedError: stopped before any update; both models are those of the last epoch.
        """
        self.models_changed = False
        timer = Timer({})
        generation = self._generate(epoch, timer) if self._environment else Generation([], [])
        batch = self._fill_batch(generation)
        groups = self._try(epoch, batch.tasks, timer)
        if self._settings.agent.algorithm.filter_groups.enable:
            groups += self._refill(epoch, groups, timer)
        if self._stop.is_set():
            raise InterruptedError("stopped before the agent's update")
        self.models_changed = True
        self._state.step += 1
        self._progress.step = self._state.step
        trained = self._update_agent(groups, timer)
        answer_rewards = self._answer_rewards(generation, groups)
        values: dict[str, float] = {}
        if self._environment is not None:
            values = self._update_environment(generation, answer_rewards, timer)
        task_rewards = self._task_rewards(groups)
        decisions, evicted = self._keep(groups, self._select(groups, task_rewards), epoch)
        batch = replace(batch, dropped=batch.dropped + [(task, "evicted") for task in evicted])
        self._state.waiting = batch.waiting
        entries = ledger_entries(
            epoch, generation, batch, groups, trained, answer_rewards, decisions, task_rewards
        )
        self._record(epoch, entries, answer_rows(epoch, generation, answer_rewards), groups)
        if self._environment is not None:
            values |= curriculum_metrics(generation, batch, entries, self._state)
            self._progress.metrics("environment", values)
        self._state.epoch = epoch
        self._progress.phase("epoch-end")

    # -- environment answers -----------------------------------------------------------------------

    def _generate(self, epoch: int, timer: Timer) -> Generation:
        assert self._environment is not None
        genenv = self._settings.genenv
        self._progress.phase("environment-rollout", role="environment")
        seeds = pick_seeds(
            self._seed_tasks,
            self._state.success_rates,
            self._state.pool,
            self._settings.environment_prompts,
            self._state.generator,
        )
        prompts, rollout = timer.measure(
            "env_gen",
            lambda: generate(
                self._environment,  # type: ignore[arg-type]
                self._client,
                seeds,
                self._stop,
                epoch=epoch,
                answers_per_prompt=genenv["num_generations_per_prompt"],
                target_success=genenv["alpha"],
                random_seed=self._state.generator.getrandbits(32),
            ),
        )
        self._warn_of_failed("environment", rollout)
        self._progress.phase("parse", role="environment")
        generation = timer.measure(
            "parse",
            lambda: parse(
                self._client,
                prompts,
                rollout["rows"],
                seeds,
                epoch=epoch,
                fits=self._fits,
                needs_truth=genenv["labels"] == "environment",
            ),
        )
        refuse_failures(
            "parsed answers", generation.failures, len(generation.answers), genenv["hooks"]
        )
        return generation

    def _warn_of_failed(self, role: str, rollout: dict[str, Any]) -> None:
        """Prompts that veRL could not roll out have no rows and are lost to this epoch: say so.

        Raises:
            WorkerError: it could roll out none: the next epoch would fare no better.
        """
        if rollout["failed"] and not rollout["rows"]:
            raise WorkerError(
                f"none of the {role}'s {len(rollout['failed'])} prompts could be rolled out",
                code="rollout-failed",
                hint=f"see logs/{role}.log; a prompt over data.max_prompt_length is the usual "
                "reason",
            )
        if rollout["failed"]:
            self._progress.warning(
                "rollout-failed",
                f"{len(rollout['failed'])} of the {role}'s prompts could not be rolled out; "
                f"see logs/{role}.log",
            )

    def _fits(self, messages: list[dict[str, str]]) -> bool:
        (length,) = self._agent.call("prompt_lengths", chats=[messages])
        return length <= self._settings.agent.data.max_prompt_length

    # -- the agent's batch -------------------------------------------------------------------------

    def _fill_batch(self, generation: Generation) -> Batch:
        return fill_batch(
            generation.answers,
            self._state,
            self._seed_tasks,
            size=self._settings.batch_size,
            seed_fraction=self._seed_fraction,
        )

    @property
    def _seed_fraction(self) -> float:
        return self._settings.genenv["pool"]["seed_fraction"] if self._environment else 1.0

    def _try(self, epoch: int, batch: list[Task], timer: Timer) -> list[Group]:
        self._progress.phase("agent-rollout", role="agent")
        rollout = timer.measure(
            "gen",
            lambda: self._agent.rollout(
                self._stop,
                prompts=[task.messages for task in batch],
                n=self._settings.responses_per_task,
                **self.overlap(batch),
            ),
        )
        self._warn_of_failed("agent", rollout)
        self._progress.phase("reward", role="agent")
        genenv = self._settings.genenv
        groups = timer.measure(
            "reward",
            lambda: self._score(batch, rollout["rows"]),
        )
        try:
            scoring.refuse_failed_scores(groups, genenv["hooks"])
        except HookError:
            # For `genenv score --run`: the responses that a mended reward has to cope with.
            self._write_rollouts(epoch, response_rows(epoch, "train", groups))
            raise
        return groups

    def overlap(self, tasks: list[Task]) -> dict[str, Any]:
        """What a rollout takes for its responses to be scored as they come; nothing in batches."""
        if self._settings.genenv["hooks"]["scoring"] != "overlap":
            return {}
        is_hook = self._scorer is self._client
        uses = self._client.describe().uses if is_hook else ALL_COLUMNS
        return {"tasks": task_texts(tasks, uses)}

    def _refill(self, epoch: int, groups: list[Group], timer: Timer) -> list[Group]:
        """Try more tasks of the pool and the data until a batch of groups has a signal.

        At most ``filter_groups.max_num_gen_batches`` rollouts in all; what the bound leaves open
        stays open, with a warning.
        """
        config = self._settings.agent.algorithm.filter_groups
        rounds = int(config.max_num_gen_batches) or refill.ROUNDS
        more: list[Group] = []
        for _ in range(rounds - 1):
            missing = refill.missing(groups + more, self._settings.batch_size, config.metric)
            if missing == 0 or self._stop.is_set():
                break
            extra = refill.draw(
                [group.task for group in groups + more],
                self._state,
                self._seed_tasks,
                count=missing,
                seed_fraction=self._seed_fraction,
            )
            if not extra:
                break
            more += self._try(epoch, extra, timer)
        missing = refill.missing(groups + more, self._settings.batch_size, config.metric)
        if missing:
            self._progress.warning(
                "few-groups",
                f"{missing} of {self._settings.batch_size} groups still have no signal after "
                f"{len(groups) + len(more)} tasks were tried",
            )
        return more

    def _score(self, batch: list[Task], rows: list[dict[str, Any]]) -> list[Group]:
        genenv = self._settings.genenv
        if genenv["labels"] == "environment":
            return self._score_known(batch, rows)
        return score_with_labels(
            self._client,
            self._score_known,
            batch,
            rows,
            min_agreement=genenv["label_agreement"],
        )

    def _score_known(self, tasks: Sequence[Task], rows: list[dict[str, Any]]) -> list[Group]:
        genenv = self._settings.genenv
        return scoring.score_groups(
            self._scorer,
            tasks,
            rows,
            success_threshold=genenv["success_threshold"],
            on_failure=genenv["hooks"]["on_failure"],
        )

    def _update_agent(self, groups: list[Group], timer: Timer) -> set[str]:
        """Train on the scored responses; gives the ids of the tasks that were trained on."""
        self._progress.phase("agent-update", role="agent")
        filtered = self._settings.agent.algorithm.filter_groups
        if filtered.enable:
            taken = refill.take(groups, self._settings.batch_size, filtered.metric)
        else:
            taken = groups
        pairs = [pair for group in taken for pair in group.trainable()]
        used = {id(row) for row, _ in pairs}
        rest = [row["key"] for g in groups for row in g.rows if id(row) not in used]
        self._agent.call("forget", keys=rest)
        values = agent_metrics(groups)
        scored = any(group.trainable() for group in groups)
        if pairs:
            result = timer.measure("update_agent", lambda: _update(self._agent, pairs))
            values |= update_metrics(result)
        elif not scored:
            self._progress.warning("no-scores", "no response has a score: the agent is not updated")
        self._progress.metrics("agent", values | timer.seconds)
        return {group.task.id for group in taken if group.trainable()}

    # -- the environment's update ------------------------------------------------------------------

    def _answer_rewards(self, generation: Generation, groups: list[Group]) -> Rewards:
        """R by answer id; None where none of its tasks was tried or scored."""
        if not generation.answers:
            return {}
        tried = {group.task.id: group.success_rate for group in groups}
        genenv = self._settings.genenv
        known = [[tried.get(task.id) for task in answer.tasks] for answer in generation.answers]
        rewards = self._client.alpha_rewards(known, genenv["alpha"], genenv["beta"])
        return {a.id: r for a, r in zip(generation.answers, rewards, strict=True)}

    def _update_environment(
        self, generation: Generation, rewards: Rewards, timer: Timer
    ) -> dict[str, float]:
        assert self._environment is not None
        self._progress.phase("environment-update", role="environment")
        objective = self._settings.genenv["env_update"]
        pairs = scoring.trainable_answers(generation.answers, rewards, objective)
        values = environment_metrics(generation, rewards)
        used = {id(row) for row, _ in pairs}
        rest = [a.row["key"] for a in generation.answers if id(a.row) not in used]
        self._environment.call("forget", keys=rest)
        if pairs:
            environment = self._environment
            result = timer.measure(
                "update_env", lambda: _update(environment, pairs, self._shared_estimator())
            )
            values |= update_metrics(result)
            values["timing_s/update_env"] = timer.seconds["timing_s/update_env"]
        return values

    def _shared_estimator(self) -> str | None:
        """The environment's estimator where its trainer is the agent's.

        On answers of the current policy, the gradient of the clipped loss with regression weights
        as advantages is that of the weighted log-likelihood: the ratio is 1.
        """
        rwr = self._settings.genenv["env_update"] == "rwr"
        return RWR if self._settings.shares_model and rwr else None

    # -- curriculum, ledger, files -----------------------------------------------------------------

    def _task_rewards(self, groups: list[Group]) -> dict[str, float | None]:
        """R of each generated task with a known success rate, by id."""
        genenv = self._settings.genenv
        known = {
            g.task.id: g.success_rate
            for g in groups
            if g.task.source == "environment" and g.success_rate is not None
        }
        rewards = self._client.alpha_rewards(
            [[rate] for rate in known.values()], genenv["alpha"], genenv["beta"]
        )
        return dict(zip(known, rewards, strict=True))

    def _select(self, groups: list[Group], rewards: dict[str, float | None]) -> dict[str, Decision]:
        """The curriculum's word on every generated task with a known success rate."""
        if not rewards:
            return {}
        genenv = self._settings.genenv
        decisions = self._client.select(
            [
                {
                    "id": g.task.id,
                    "prompt": g.task.messages,
                    "groundTruth": g.task.ground_truth,
                    "successRate": g.success_rate,
                    "reward": rewards[g.task.id],
                }
                for g in groups
                if g.task.id in rewards
            ],
            genenv["alpha"],
            genenv["filtering_k"],
            genenv["filtering_mode"],
            self._state.epoch + 1,
        )
        if not any(decision.keep for decision in decisions):
            self._progress.warning(
                "nothing-kept",
                f"the curriculum kept none of {len(decisions)} tasks; nothing joins the pool",
            )
        return {decision.id: decision for decision in decisions}

    def _keep(
        self, groups: list[Group], decisions: dict[str, Decision], epoch: int
    ) -> tuple[dict[str, Decision], list[Task]]:
        """Renew success rates and the pool; gives what became of each tried task in the end.

        A generated task that is kept joins or stays in the pool, any other leaves it. Seed data
        never joins. What the curriculum keeps can still be out: solved twice in a row, nearly the
        same as another, or the lightest of a full pool. Others that a full pool let go of come
        second.
        """
        outcome = dict(decisions)
        evicted: list[Task] = []
        for group in groups:
            task, rate = group.task, group.success_rate
            if rate is None:
                continue
            if task.source == "seed":
                self._state.success_rates[task.id] = rate
                continue
            decision = decisions[task.id]
            why_not = self._why_not(task, rate) if decision.keep else None
            if why_not is not None:
                outcome[task.id] = decision = replace(decision, keep=False, reason=why_not)
            if decision.keep:
                gone = self._state.pool.add(task, decision.weight, rate, epoch)
                evicted += [entry.task for entry in gone]
            else:
                self._state.pool.retire(task)
        for group in groups:
            decision = outcome.get(group.task.id)
            if decision is not None and decision.keep and group.task not in self._state.pool:
                outcome[group.task.id] = replace(decision, keep=False, reason="pool-full")
        return outcome, [task for task in evicted if task.id not in outcome]

    def _why_not(self, task: Task, rate: float) -> str | None:
        if self._state.pool.is_solved(task, rate):
            return "solved"
        like = self._state.pool.near_duplicate_of(task)
        return None if like is None else f"near-duplicate of {like.task.id}"

    def _record(
        self,
        epoch: int,
        entries: list[Entry],
        answers: list[dict[str, Any]],
        groups: list[Group],
    ) -> None:
        for entry in entries:
            if entry.task is not None and entry.responses:
                self._progress.task(
                    id=entry.task,
                    prompt=entry.prompt,
                    groundTruth=entry.ground_truth,
                    successRate=entry.success_rate,
                    reward=entry.reward,
                    kept=entry.kept,
                    reason=entry.reason,
                )
        self._ledger.add(epoch, entries)
        self._state.ledger_rows = len(self._ledger)
        self._write_rollouts(epoch, answers + response_rows(epoch, "train", groups))

    def _write_rollouts(self, epoch: int, rows: list[dict[str, Any]]) -> None:
        write_rollouts(self._settings.run_dir / "rollouts", f"epoch-{epoch:06d}", rows)


def _update(
    role: RoleHandle, pairs: list[tuple[dict[str, Any], float]], estimator: str | None = None
) -> dict[str, Any]:
    rows = [{"key": row["key"], "tag": row["tag"]} for row, _ in pairs]
    rewards = [reward for _, reward in pairs]
    return role.call("update", rows=rows, rewards=rewards, estimator=estimator)
