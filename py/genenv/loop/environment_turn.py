"""The environment model's part of an epoch: its answers, what they are worth, and its update."""

from genenv.loop import scoring
from genenv.loop.context import Context, Timer, update_role
from genenv.loop.failures import refuse_failures
from genenv.loop.generation import Generation, generate, parse, pick_seeds
from genenv.loop.metrics import environment_metrics, update_metrics
from genenv.loop.record import Rewards
from genenv.loop.scoring import Group
from genenv.verl_config import RWR


class EnvironmentTurn:
    """Owns no state: what it learns is the role's."""

    def __init__(self, run: Context) -> None:
        self._run = run

    def generate(self, epoch: int, timer: Timer) -> Generation:
        """Prompts, the environment model's answers, and the tasks in them."""
        assert self._run.environment is not None
        genenv = self._run.genenv
        self._run.progress.phase("environment-rollout", role="environment")
        seeds = pick_seeds(
            self._run.seed_tasks,
            self._run.state.success_rates,
            self._run.state.pool,
            self._run.settings.environment_prompts,
            self._run.state.generator,
        )
        prompts, rollout = timer.measure(
            "env_gen",
            lambda: generate(
                self._run.environment,  # type: ignore[arg-type]
                self._run.client,
                seeds,
                self._run.stop,
                epoch=epoch,
                answers_per_prompt=genenv["num_generations_per_prompt"],
                target_success=genenv["alpha"],
                random_seed=self._run.state.generator.getrandbits(32),
            ),
        )
        self._run.warn_of_failed("environment", rollout)
        self._run.progress.phase("parse", role="environment")
        generation = timer.measure(
            "parse",
            lambda: parse(
                self._run.client,
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

    def _fits(self, messages: list[dict[str, str]]) -> bool:
        (length,) = self._run.agent.call("prompt_lengths", chats=[messages])
        return length <= self._run.settings.agent.data.max_prompt_length

    def rewards(self, generation: Generation, groups: list[Group]) -> Rewards:
        """R by answer id; None where none of its tasks was tried or scored."""
        if not generation.answers:
            return {}
        tried = {group.task.id: group.success_rate for group in groups}
        genenv = self._run.genenv
        known = [[tried.get(task.id) for task in answer.tasks] for answer in generation.answers]
        rewards = self._run.client.alpha_rewards(known, genenv["alpha"], genenv["beta"])
        return {a.id: r for a, r in zip(generation.answers, rewards, strict=True)}

    def update(self, generation: Generation, rewards: Rewards, timer: Timer) -> dict[str, float]:
        """Train on the answers that have an R; gives metrics."""
        assert self._run.environment is not None
        self._run.progress.phase("environment-update", role="environment")
        objective = self._run.genenv["env_update"]
        pairs = scoring.trainable_answers(generation.answers, rewards, objective)
        values = environment_metrics(generation, rewards)
        used = {id(row) for row, _ in pairs}
        rest = [a.row["key"] for a in generation.answers if id(a.row) not in used]
        self._run.environment.call("forget", keys=rest)
        if pairs:
            environment = self._run.environment
            result = timer.measure(
                "update_env", lambda: update_role(environment, pairs, self._shared_estimator())
            )
            values |= update_metrics(result)
            values["timing_s/update_env"] = timer.seconds["timing_s/update_env"]
        return values

    def _shared_estimator(self) -> str | None:
        """The environment's estimator where its trainer is the agent's.

        On answers of the current policy, the gradient of the clipped loss with regression weights
        as advantages is that of the weighted log-likelihood: the ratio is 1.
        """
        rwr = self._run.genenv["env_update"] == "rwr"
        return RWR if self._run.settings.shares_model and rwr else None
