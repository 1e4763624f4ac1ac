"""The loop's client of the hook plane: rewards, prompts, parsing, curricula in TypeScript.

`bridge/hooks/` is the other end, `wire.py` the contract. PyArrow and the standard library only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genenv import wire
from genenv.errors import HookError
from genenv.hook_batches import batch_of, chunks, dump, load, score_payload, score_results
from genenv.hook_channel import HookChannel, Payload
from genenv.hook_types import (
    Accepted,
    Decision,
    HookInfo,
    Message,
    Rejected,
    ScoreResult,
    Seed,
    Vote,
)
from genenv.wire import Column, Kind, Op

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

__all__ = [
    "Accepted",
    "Decision",
    "HookClient",
    "HookInfo",
    "Message",
    "Rejected",
    "ScoreResult",
    "Seed",
    "Vote",
]


class HookClient:
    """The hooks of a run, as the training loop calls them. Threads may share a client.

    It survives the death of the hook host: `HookChannel` says how.
    """

    def __init__(self, address: str, token: str | None = None, timeout_s: float = 900.0) -> None:
        """`address` is "unix:/path" or "tcp:host:port"; `timeout_s` bounds a whole call."""
        self.failures: dict[str, int] = {}
        """Failed rows so far by "op: code", of every op but scoring (whose results say it)."""
        self._channel = HookChannel(address, token, timeout_s)
        self._info: HookInfo | None = None

    def __enter__(self) -> HookClient:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def describe(self) -> HookInfo:
        if self._info is None:
            row = self._json_rows(Op.DESCRIBE, b"")[0]
            info = load(str(row["json"]))
            self._info = HookInfo(
                reward=info["reward"],
                uses=tuple(info["uses"]),
                environment=info["environment"],
                curriculum=info["curriculum"],
                has_agent_prompt=info["hasAgentPrompt"],
            )
        return self._info

    def score(
        self,
        responses: Sequence[str],
        ground_truths: Sequence[Any],
        task_ids: Sequence[str],
        *,
        messages: Sequence[list[Message]] | None = None,
        data_sources: Sequence[str | None] | None = None,
        extras: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[ScoreResult]:
        """A result for each response, in order. Only the columns the reward `uses` are sent.

        Raises HookError where the columns' lengths differ, a column the reward uses is missing, a
        ground truth can't be JSON, or the host stays away; a hook's own failure is a result.
        """
        count = len(responses)
        columns: dict[str, Sequence[Any]] = {
            Column.RESPONSE: responses,
            Column.TASK_ID: task_ids,
            Column.GROUND_TRUTH: ground_truths,
        }
        given = {
            "messages": (Column.MESSAGES, messages),
            "dataSource": (Column.DATA_SOURCE, data_sources),
            "extra": (Column.EXTRA, extras),
        }
        for use in self.describe().uses:
            name, values = given[use]
            if values is None:
                raise HookError(
                    f'the reward uses "{use}", and this batch has none', code="missing-column"
                )
            columns[name] = values
        for name, values in columns.items():
            if len(values) != count:
                raise HookError(
                    f"{len(values)} values of {name} for {count} responses", code="batch-shape"
                )
        if count == 0:
            return []
        ranges = list(chunks(responses))
        payloads = (score_payload(columns, start, stop) for start, stop in ranges)
        results: list[ScoreResult] = []
        for (start, stop), (kind, body) in zip(
            ranges, self._channel.call(Op.SCORE, payloads), strict=True
        ):
            results.extend(score_results(kind, body, stop - start))
        return results

    def environment_prompts(
        self, seeds: Sequence[Sequence[Seed]], epoch: int, target_success: float, random_seed: int
    ) -> list[list[Message]]:
        """The messages for each environment prompt. A hook that fails raises HookError."""
        if not seeds:
            return []
        params = {"epoch": epoch, "targetSuccess": target_success, "randomSeed": random_seed}
        rows = self._json_rows(
            Op.PROMPTS, batch_of(params, {Column.SEEDS: [dump(row, "seeds") for row in seeds]})
        )
        return [load(self._json_of(Op.PROMPTS, row)) for row in rows]

    def parse(
        self, answers: Sequence[str], seeds: Sequence[Sequence[Seed]]
    ) -> list[list[Accepted | Rejected]]:
        """The tasks in each answer, never an empty list. A hook that fails rejects the answer."""
        if len(answers) != len(seeds):
            raise HookError(
                f"{len(answers)} answers and {len(seeds)} seed lists", code="batch-shape"
            )
        if not answers:
            return []
        columns = {
            Column.ANSWER: answers,
            Column.SEEDS: [dump(row, "seeds") for row in seeds],
        }
        rows = self._json_rows(Op.PARSE, batch_of({}, columns))
        return [self._parsed(row) for row in rows]

    def select(
        self,
        tasks: Sequence[Mapping[str, Any]],
        target_success: float,
        filtering_k: float,
        filtering_mode: str,
        epoch: int,
    ) -> list[Decision]:
        """The curriculum's decision about each task; HookError where one is missing or wrong."""
        params = {
            "targetSuccess": target_success,
            "filteringK": filtering_k,
            "filteringMode": filtering_mode,
            "epoch": epoch,
        }
        rows = self._json_rows(
            Op.SELECT, batch_of(params, {Column.TASKS: [dump(list(tasks), "tasks")]})
        )
        entries = load(self._json_of(Op.SELECT, rows[0]))
        return [
            Decision(entry["id"], entry["keep"], float(entry["weight"]), entry["reason"])
            for entry in entries
        ]

    def alpha_rewards(
        self, success_rates: Sequence[Sequence[float | None]], alpha: float, beta: float
    ) -> list[float | None]:
        """Each environment answer's reward from its tasks' success rates; None leaves it out."""
        if not success_rates:
            return []
        rates = [dump(list(row), "success_rates") for row in success_rates]
        params = {"alpha": alpha, "beta": beta}
        rows = self._json_rows(Op.ALPHA, batch_of(params, {Column.SUCCESS_RATES: rates}))
        rewards = [load(self._json_of(Op.ALPHA, row)) for row in rows]
        return [None if reward is None else float(reward) for reward in rewards]

    def labels(self, responses: Sequence[Sequence[str]], min_agreement: float) -> list[Vote]:
        """A vote on the label of each task from its responses; HookError where `extract` fails."""
        if not responses:
            return []
        rows = self._json_rows(
            Op.LABEL,
            batch_of(
                {"minAgreement": min_agreement},
                {Column.RESPONSES: [dump(list(row), "responses") for row in responses]},
            ),
        )
        votes = [load(self._json_of(Op.LABEL, row)) for row in rows]
        return [Vote(vote["label"], float(vote["agreement"])) for vote in votes]

    # --- replies ------------------------------------------------------------------------------

    def _json_rows(self, op: Op, payload: Payload) -> list[dict[str, str | None]]:
        ((kind, body),) = self._channel.call(op, iter([payload]))
        if kind is not Kind.REPLY:
            raise wire.bad_frame(f"of op {op.name} has the reply kind {kind.name}")
        return wire.decode_batch(body, wire.JSON_SCHEMA).to_pylist()

    def _json_of(self, op: Op, row: Mapping[str, str | None]) -> str:
        text = row["json"]
        if text is None:
            self._count_failure(op, row)
            raise HookError(str(row["reason"]), code=f"hook-{row['code']}")
        return text

    def _parsed(self, row: Mapping[str, str | None]) -> list[Accepted | Rejected]:
        text = row["json"]
        if text is None:
            self._count_failure(Op.PARSE, row)
            return [Rejected(f"failed: {row['code']}: {row['reason']}", row["code"])]
        return [
            Accepted(entry["task"], entry["messages"])
            if entry["kind"] == "accepted"
            else Rejected(entry["reason"])
            for entry in load(text)
        ]

    def _count_failure(self, op: Op, row: Mapping[str, str | None]) -> None:
        key = f"{op.name.lower()}: {row['code']}"
        self.failures[key] = self.failures.get(key, 0) + 1
