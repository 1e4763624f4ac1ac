"""The curriculum's part of an epoch: which tasks are worth keeping, and the pool of those."""

from dataclasses import replace

from genenv.hooks import Decision
from genenv.loop.context import Context
from genenv.loop.scoring import Group
from genenv.loop.tasks import Task


class Selection:
    """Changes the state's pool and success rates."""

    def __init__(self, run: Context) -> None:
        self._run = run

    def rewards(self, groups: list[Group]) -> dict[str, float | None]:
        """R of each generated task with a known success rate, by id."""
        genenv = self._run.genenv
        known = {
            g.task.id: g.success_rate
            for g in groups
            if g.task.source == "environment" and g.success_rate is not None
        }
        rewards = self._run.client.alpha_rewards(
            [[rate] for rate in known.values()], genenv["alpha"], genenv["beta"]
        )
        return dict(zip(known, rewards, strict=True))

    def select(self, groups: list[Group], rewards: dict[str, float | None]) -> dict[str, Decision]:
        """The curriculum's word on every generated task with a known success rate."""
        if not rewards:
            return {}
        genenv = self._run.genenv
        decisions = self._run.client.select(
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
            self._run.state.epoch + 1,
        )
        if not any(decision.keep for decision in decisions):
            self._run.progress.warning(
                "nothing-kept",
                f"the curriculum kept none of {len(decisions)} tasks; nothing joins the pool",
            )
        return {decision.id: decision for decision in decisions}

    def keep(
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
                self._run.state.success_rates[task.id] = rate
                continue
            decision = decisions[task.id]
            why_not = self._why_not(task, rate) if decision.keep else None
            if why_not is not None:
                outcome[task.id] = decision = replace(decision, keep=False, reason=why_not)
            if decision.keep:
                gone = self._run.state.pool.add(task, decision.weight, rate, epoch)
                evicted += [entry.task for entry in gone]
            else:
                self._run.state.pool.retire(task)
        for group in groups:
            decision = outcome.get(group.task.id)
            if decision is not None and decision.keep and group.task not in self._run.state.pool:
                outcome[group.task.id] = replace(decision, keep=False, reason="pool-full")
        return outcome, [task for task in evicted if task.id not in outcome]

    def _why_not(self, task: Task, rate: float) -> str | None:
        if self._run.state.pool.is_solved(task, rate):
            return "solved"
        like = self._run.state.pool.near_duplicate_of(task)
        return None if like is None else f"near-duplicate of {like.task.id}"
