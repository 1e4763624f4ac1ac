"""The errors of the Python side: one base, one type a boundary, the same names as in TypeScript.

Standard library only, so that any process may import it at once.
"""

from __future__ import annotations


class GenEnvError(Exception):
    """What was wrong, the value seen and where, in the message; `hint` says what to do next.

    `code` is a stable word for programs ("bad-row", "host-died"); the message is for people.
    """

    def __init__(self, message: str, *, code: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # Ray pickles errors on their way to the driver, and keyword-only arguments would be lost.
        return _rebuild, (type(self), self.message, self.code, self.hint)


class ConfigError(GenEnvError):
    """A configuration key or value that can't be used."""


class DataError(GenEnvError):
    """A file, row or value of the data that can't be used."""


class HookError(GenEnvError):
    """The hook plane, or a hook, gave no usable answer."""


class WorkerError(GenEnvError):
    """A process of the training stack died or stopped answering."""


class PythonError(GenEnvError):
    """The Python environment itself: its version, packages or set-up."""


def _rebuild(kind: type[GenEnvError], message: str, code: str, hint: str | None) -> GenEnvError:
    return kind(message, code=code, hint=hint)
