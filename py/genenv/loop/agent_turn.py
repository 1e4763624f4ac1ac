"""The agent's part of an epoch: its responses, their scores, and the update on them."""

from collections.abc import Sequence
from typing import Any

from genenv.errors import HookError
from genenv.loop import refill, scoring
from genenv.loop.context import Context, Timer, update_role
from genenv.loop.labels import score_with_labels
from genenv.loop.metrics import agent_metrics, update_metrics
from genenv.loop.overlap import ALL_COLUMNS, task_texts
from genenv.loop.record import response_rows
from genenv.loop.scoring import Group
from genenv.loop.tasks import Task


class AgentTurn:
    """Owns no state: what it learns is the role's."""

    def __init__(self, run: Context) -> None:
        self._run = run

    def try_tasks(self, epoch: int, batch: list[Task], timer: Timer) -> list[Group]:
        """The agent's responses to each task, scored."""
        self._run.progress.phase("agent-rollout", role="agent")
        rollout = timer.measure(
            "gen",
            lambda: self._run.agent.rollout(
                self._run.stop,
                prompts=[task.messages for task in batch],
                n=self._run.settings.responses_per_task,
                **self.overlap(batch),
            ),
        )
        self._run.warn_of_failed("agent", rollout)
        self._run.progress.phase("reward", role="agent")
        genenv = self._run.genenv
        groups = timer.measure(
            "reward",
            lambda: self._score(batch, rollout["rows"]),
        )
        try:
            scoring.refuse_failed_scores(groups, genenv["hooks"])
        except HookError:
            # For `genenv score --run`: the responses that a mended reward has to cope with.
            self._run.write_rollouts(epoch, response_rows(epoch, "train", groups))
            raise
        return groups

    def overlap(self, tasks: list[Task]) -> dict[str, Any]:
        """What a rollout takes for its responses to be scored as they come; nothing in batches."""
        if self._run.genenv["hooks"]["scoring"] != "overlap":
            return {}
        is_hook = self._run.scorer is self._run.client
        uses = self._run.client.describe().uses if is_hook else ALL_COLUMNS
        return {"tasks": task_texts(tasks, uses)}

    def refill(self, epoch: int, groups: list[Group], timer: Timer) -> list[Group]:
        """Try more tasks of the pool and the data until a batch of groups has a signal.

        At most ``filter_groups.max_num_gen_batches`` rollouts in all; what the bound leaves open
        stays open, with a warning.
        """
        config = self._run.settings.agent.algorithm.filter_groups
        rounds = int(config.max_num_gen_batches) or refill.ROUNDS
        more: list[Group] = []
        for _ in range(rounds - 1):
            missing = refill.missing(groups + more, self._run.settings.batch_size, config.metric)
            if missing == 0 or self._run.stop.is_set():
                break
            extra = refill.draw(
                [group.task for group in groups + more],
                self._run.state,
                self._run.seed_tasks,
                count=missing,
                seed_fraction=self._run.seed_fraction,
            )
            if not extra:
                break
            more += self.try_tasks(epoch, extra, timer)
        missing = refill.missing(groups + more, self._run.settings.batch_size, config.metric)
        if missing:
            self._run.progress.warning(
                "few-groups",
                f"{missing} of {self._run.settings.batch_size} groups still have no signal after "
                f"{len(groups) + len(more)} tasks were tried",
            )
        return more

    def _score(self, batch: list[Task], rows: list[dict[str, Any]]) -> list[Group]:
        genenv = self._run.genenv
        if genenv["labels"] == "environment":
            return self._score_known(batch, rows)
        return score_with_labels(
            self._run.client,
            self._score_known,
            batch,
            rows,
            min_agreement=genenv["label_agreement"],
        )

    def _score_known(self, tasks: Sequence[Task], rows: list[dict[str, Any]]) -> list[Group]:
        genenv = self._run.genenv
        return scoring.score_groups(
            self._run.scorer,
            tasks,
            rows,
            success_threshold=genenv["success_threshold"],
            on_failure=genenv["hooks"]["on_failure"],
        )

    def update(self, groups: list[Group], timer: Timer) -> set[str]:
        """Train on the scored responses; gives the ids of the tasks that were trained on."""
        self._run.progress.phase("agent-update", role="agent")
        filtered = self._run.settings.agent.algorithm.filter_groups
        if filtered.enable:
            taken = refill.take(groups, self._run.settings.batch_size, filtered.metric)
        else:
            taken = groups
        pairs = [pair for group in taken for pair in group.trainable()]
        used = {id(row) for row, _ in pairs}
        rest = [row["key"] for g in groups for row in g.rows if id(row) not in used]
        self._run.agent.call("forget", keys=rest)
        values = agent_metrics(groups)
        scored = any(group.trainable() for group in groups)
        if pairs:
            result = timer.measure("update_agent", lambda: update_role(self._run.agent, pairs))
            values |= update_metrics(result)
        elif not scored:
            self._run.progress.warning(
                "no-scores", "no response has a score: the agent is not updated"
            )
        self._run.progress.metrics("agent", values | timer.seconds)
        return {group.task.id for group in taken if group.trainable()}
