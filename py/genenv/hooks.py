"""The loop's client of the hook plane: rewards, prompts, parsing, curricula in TypeScript.

`bridge/hooks/` is the other end, `wire.py` the contract. PyArrow and the standard library only.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from genenv import wire
from genenv.errors import HookError
from genenv.hook_channel import HookChannel, Payload
from genenv.wire import Column, Kind, Op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

MIN_CHUNK_ROWS, MAX_CHUNK_ROWS = 256, 1024
"""Rows a frame, a quarter of the batch within these: one is scored while the next is encoded."""
CHUNK_TEXT = 32 << 20
"""Characters of response a frame, far below the frame's own bound."""
_NO_METRICS: dict[str, float] = {}


class Message(TypedDict):
    role: str
    content: str


class Seed(TypedDict):
    """A task shown to the environment model; `task` has prompt, groundTruth and other fields."""

    id: str
    task: dict[str, Any]
    successRate: float | None


@dataclass(frozen=True, slots=True)
class HookInfo:
    reward: str | None
    uses: tuple[str, ...]
    environment: str | None
    curriculum: str | None
    has_agent_prompt: bool


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """One response's result, made by the reward hook (or by its host, where kind is "failed").

    kind "score" has a finite value, and success where the hook said so; "abstain" has a reason;
    "failed" has a reason and a code of wire.FAILURE_CODES.
    """

    kind: str
    value: float | None = None
    success: bool | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    code: str | None = None
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Its fields as JSON has them; ``ScoreResult(**fields)`` is the way back."""
        return {
            "kind": self.kind,
            "value": self.value,
            "success": self.success,
            "metrics": dict(self.metrics),
            "code": self.code,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Vote:
    """What the agent's answers to a task say of its ground truth.

    Attributes:
        label: the most frequent answer; None where fewer than asked for agree.
        agreement: the share of the responses that give it, from 0 to 1.
    """

    label: str | None
    agreement: float


@dataclass(frozen=True, slots=True)
class Accepted:
    """A task the parse hook accepted, and the messages the agent gets for it."""

    task: dict[str, Any]
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class Rejected:
    """What an answer holds instead of a task; `code` is the failure's where the hook failed."""

    reason: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a task joins the pool, with its sampling weight (finite, not negative)."""

    id: str
    keep: bool
    weight: float
    reason: str


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
            info = _load(str(row["json"]))
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
        chunks = list(_chunks(responses))
        payloads = (_score_payload(columns, start, stop) for start, stop in chunks)
        results: list[ScoreResult] = []
        for (start, stop), (kind, body) in zip(
            chunks, self._channel.call(Op.SCORE, payloads), strict=True
        ):
            results.extend(_score_results(kind, body, stop - start))
        return results

    def environment_prompts(
        self, seeds: Sequence[Sequence[Seed]], epoch: int, target_success: float, random_seed: int
    ) -> list[list[Message]]:
        """The messages for each environment prompt. A hook that fails raises HookError."""
        if not seeds:
            return []
        params = {"epoch": epoch, "targetSuccess": target_success, "randomSeed": random_seed}
        rows = self._json_rows(
            Op.PROMPTS, _batch(params, {Column.SEEDS: [_dump(row, "seeds") for row in seeds]})
        )
        return [_load(self._json_of(Op.PROMPTS, row)) for row in rows]

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
            Column.SEEDS: [_dump(row, "seeds") for row in seeds],
        }
        rows = self._json_rows(Op.PARSE, _batch({}, columns))
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
            Op.SELECT, _batch(params, {Column.TASKS: [_dump(list(tasks), "tasks")]})
        )
        entries = _load(self._json_of(Op.SELECT, rows[0]))
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
        rates = [_dump(list(row), "success_rates") for row in success_rates]
        params = {"alpha": alpha, "beta": beta}
        rows = self._json_rows(Op.ALPHA, _batch(params, {Column.SUCCESS_RATES: rates}))
        rewards = [_load(self._json_of(Op.ALPHA, row)) for row in rows]
        return [None if reward is None else float(reward) for reward in rewards]

    def labels(self, responses: Sequence[Sequence[str]], min_agreement: float) -> list[Vote]:
        """A vote on the label of each task from its responses; HookError where `extract` fails."""
        if not responses:
            return []
        rows = self._json_rows(
            Op.LABEL,
            _batch(
                {"minAgreement": min_agreement},
                {Column.RESPONSES: [_dump(list(row), "responses") for row in responses]},
            ),
        )
        votes = [_load(self._json_of(Op.LABEL, row)) for row in rows]
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
            for entry in _load(text)
        ]

    def _count_failure(self, op: Op, row: Mapping[str, str | None]) -> None:
        key = f"{op.name.lower()}: {row['code']}"
        self.failures[key] = self.failures.get(key, 0) + 1


def _chunks(responses: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Ranges of rows that make a frame each."""
    rows = min(MAX_CHUNK_ROWS, max(MIN_CHUNK_ROWS, -(-len(responses) // 4)))
    for start in range(0, len(responses), rows):
        stop = min(start + rows, len(responses))
        lengths = [len(response) for response in responses[start:stop]]
        if sum(lengths) <= CHUNK_TEXT:
            yield start, stop
        else:
            yield from _long_chunks(start, lengths)


def _long_chunks(start: int, lengths: list[int]) -> Iterator[tuple[int, int]]:
    first, text = start, 0
    for row, length in enumerate(lengths, start):
        if row > first and text + length > CHUNK_TEXT:
            yield first, row
            first, text = row, 0
        text += length
    yield first, start + len(lengths)


def _score_payload(columns: Mapping[str, Sequence[Any]], start: int, stop: int) -> Payload:
    part = {name: values[start:stop] for name, values in columns.items()}
    truths = part.pop(Column.GROUND_TRUTH)
    if all(type(truth) is str for truth in truths):
        part[Column.GROUND_TRUTH_TEXT] = truths
    else:
        part[Column.GROUND_TRUTH] = [
            _dump(truth, f"ground_truths[{start + row}]") for row, truth in enumerate(truths)
        ]
    for name in (Column.MESSAGES, Column.EXTRA):
        if name in part:
            part[name] = [
                _dump(value, f"{name}[{start + row}]") for row, value in enumerate(part[name])
            ]
    return _batch({"firstRow": start} if start else {}, part)


def _batch(params: Mapping[str, Any], columns: dict[str, Sequence[str | None]]) -> Payload:
    if params:
        rows = len(next(iter(columns.values())))
        columns = {**columns, Column.PARAMS: [_dump(params, "params")] + [None] * (rows - 1)}
    return wire.encode_batch(columns)


def _dump(value: Any, what: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise HookError(
            f"{what} can't be sent to the hooks: {error} (in {str(value)[:120]})",
            code="not-json",
            hint="use text, finite numbers, booleans, None, lists and dicts",
        ) from error


def _score_results(kind: Kind, body: memoryview, rows: int) -> list[ScoreResult]:
    if kind is Kind.REPLY_F64:
        values = body.cast("d").tolist() if len(body) == 8 * rows else None
        if values is None:
            raise wire.bad_frame(f"has {len(body)} bytes of scores for {rows} rows")
        if not all(map(math.isfinite, values)):
            raise wire.bad_frame("has a score that is no finite number")
        # Results are immutable and most scores are 0 or 1: one object for each value.
        made = {value: ScoreResult("score", value, None, _NO_METRICS) for value in set(values)}
        return [made[value] for value in values]
    batch = wire.decode_batch(body, wire.RESULT_SCHEMA)
    if batch.num_rows != rows:
        raise wire.bad_frame(f"has {batch.num_rows} results for {rows} rows")
    columns = [batch.column(name).to_pylist() for name in wire.RESULT_COLUMNS]
    return [_result(*row) for row in zip(*columns, strict=True)]


def _result(
    kind: int | None,
    value: float | None,
    success: bool | None,
    metrics: str | None,
    code: str | None,
    reason: str | None,
) -> ScoreResult:
    if kind == 0 and value is not None and math.isfinite(value):
        parts = _NO_METRICS if metrics is None else _metrics(metrics)
        return ScoreResult("score", value, success, parts)
    if kind == 1 and reason is not None:
        return ScoreResult("abstain", reason=reason)
    if kind == 2 and code in wire.FAILURE_CODES and reason is not None:
        return ScoreResult("failed", code=code, reason=reason)
    raise wire.bad_frame(f"has a result of kind {kind} with value {value}, {code}, {reason}")


def _metrics(text: str) -> dict[str, float]:
    metrics = _load(text)
    if isinstance(metrics, dict) and all(type(value) in (int, float) for value in metrics.values()):
        return {name: float(value) for name, value in metrics.items()}
    raise wire.bad_frame(f"has metrics that are no numbers: {text[:120]}")


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise wire.bad_frame(f"holds broken JSON ({error})") from error
