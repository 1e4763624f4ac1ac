"""When hooks fail too often for a run to go on (``on_failure`` and ``max_failure_rate``)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from genenv.errors import HookError


@dataclass(frozen=True)
class Failure:
    """A hook's call that gave no result: its code, and its text with the user's own line."""

    code: str
    reason: str


def refuse_failures(
    what: str, failures: Sequence[Failure], calls: int, hooks: Mapping[str, Any]
) -> None:
    """Raise where a batch's failures end the run.

    Args:
        what: the batch's calls in a word, "scores" or "parsed answers".
        failures: those that failed.
        calls: how many there were.
        hooks: ``genenv.hooks``: ``on_failure: stop`` ends it at the first failure, any other value
            where more than ``max_failure_rate`` of the calls failed.

    Raises:
        HookError: with the first failure's own text.
    """
    if not failures:
        return
    first, share = failures[0], len(failures) / calls
    shown = f"the first: {first.code}: {first.reason}"
    if hooks["on_failure"] == "stop":
        raise HookError(
            f"{len(failures)} of {calls} {what} failed, and genenv.hooks.on_failure is stop; "
            f"{shown}",
            code="hook-failed",
            hint="mend the hook and resume the run, or set genenv.hooks.on_failure=abstain",
        )
    limit = hooks["max_failure_rate"]
    if share > limit:
        raise HookError(
            f"{len(failures)} of {calls} {what} failed ({share:.0%}, more than "
            f"genenv.hooks.max_failure_rate = {limit:.0%}); {shown}",
            code="too-many-failures",
            hint="mend the hook and resume the run, or raise genenv.hooks.max_failure_rate",
        )
