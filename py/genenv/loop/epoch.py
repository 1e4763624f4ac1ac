"""One co-evolution epoch on one set of rollouts (GenEnv, arXiv 2512.19682).

Environment prompts -> answers -> tasks -> the agent's batch -> responses -> scores. These responses
are the agent's GRPO batch and give each task's success rate, from which the environment's rewards
follow.
"""

from dataclasses import replace
from typing import Any

from genenv.loop.agent_turn import AgentTurn
from genenv.loop.batch import fill_batch
from genenv.loop.context import Context, Timer
from genenv.loop.environment_turn import EnvironmentTurn
from genenv.loop.generation import Generation
from genenv.loop.ledger import Entry
from genenv.loop.metrics import curriculum_metrics
from genenv.loop.record import answer_rows, ledger_entries, response_rows
from genenv.loop.scoring import Group
from genenv.loop.selection import Selection


class EpochRunner:
    """Runs epochs; owns no state of its own."""

    def __init__(self, run: Context) -> None:
        self._run = run
        self.agent = AgentTurn(run)
        self._environment = EnvironmentTurn(run)
        self._selection = Selection(run)
        # Whether the epoch under way has begun to update a model.
        self.models_changed = False

    def run(self, epoch: int) -> None:
        """One epoch, start to end; the state is that of the finished epoch afterwards.

        Raises:
            InterruptedError: stopped before any update; both models are those of the last epoch.
        """
        self.models_changed = False
        timer = Timer({})
        generation = Generation([], [])
        if self._run.environment is not None:
            generation = self._environment.generate(epoch, timer)
        batch = fill_batch(
            generation.answers,
            self._run.state,
            self._run.seed_tasks,
            size=self._run.settings.batch_size,
            seed_fraction=self._run.seed_fraction,
        )
        groups = self.agent.try_tasks(epoch, batch.tasks, timer)
        if self._run.settings.agent.algorithm.filter_groups.enable:
            groups += self.agent.refill(epoch, groups, timer)
        if self._run.stop.is_set():
            raise InterruptedError("stopped before the agent's update")
        self.models_changed = True
        self._run.state.step += 1
        self._run.progress.step = self._run.state.step
        trained = self.agent.update(groups, timer)
        answer_rewards = self._environment.rewards(generation, groups)
        values: dict[str, float] = {}
        if self._run.environment is not None:
            values = self._environment.update(generation, answer_rewards, timer)
        task_rewards = self._selection.rewards(groups)
        decisions, evicted = self._selection.keep(
            groups, self._selection.select(groups, task_rewards), epoch
        )
        batch = replace(batch, dropped=batch.dropped + [(task, "evicted") for task in evicted])
        self._run.state.waiting = batch.waiting
        entries = ledger_entries(
            epoch, generation, batch, groups, trained, answer_rewards, decisions, task_rewards
        )
        self._record(epoch, entries, answer_rows(epoch, generation, answer_rewards), groups)
        if self._run.environment is not None:
            values |= curriculum_metrics(generation, batch, entries, self._run.state)
            self._run.progress.metrics("environment", values)
        self._run.state.epoch = epoch
        self._run.progress.phase("epoch-end")

    def _record(
        self,
        epoch: int,
        entries: list[Entry],
        answers: list[dict[str, Any]],
        groups: list[Group],
    ) -> None:
        for entry in entries:
            if entry.task is not None and entry.responses:
                self._run.progress.task(
                    id=entry.task,
                    prompt=entry.prompt,
                    groundTruth=entry.ground_truth,
                    successRate=entry.success_rate,
                    reward=entry.reward,
                    kept=entry.kept,
                    reason=entry.reason,
                )
        self._run.ledger.add(epoch, entries)
        self._run.state.ledger_rows = len(self._run.ledger)
        self._run.write_rollouts(epoch, answers + response_rows(epoch, "train", groups))
