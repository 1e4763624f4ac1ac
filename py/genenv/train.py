"""``python -m genenv.train key=value ...``: the Python GenEnv's command line, for the same loop as
``genenv run``.

This process becomes Node with genenv's own CLI, so signals, output and exit code are the CLI's.
Standard library only: nothing of the training stack is needed to get there.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

MINIMUM_NODE = (20, 19)

_PACKAGE = Path(__file__).resolve().parents[2]
_CONFIG_FOLDER = "configs"
_CONFIG_NAME = "genenv_config"
# Hydra's own flags that say where the configuration lies.
_HYDRA = {
    "--config-path": "path",
    "-cp": "path",
    "--config-name": "name",
    "-cn": "name",
}
_USAGE_ERROR = 2


class UsageError(Exception):
    """What keeps the command from starting; ``hint`` is the next step."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def main(arguments: Sequence[str]) -> NoReturn:
    """Become ``genenv run`` with these arguments; exits with 2 where that can't start."""
    try:
        command = [find_node(), str(find_cli(_PACKAGE)), "run", *to_run_arguments(arguments)]
    except UsageError as error:
        print(f"error: {error}\n  next: {error.hint}", file=sys.stderr)
        sys.exit(_USAGE_ERROR)
    sys.stdout.flush()
    os.execv(command[0], command)


def find_node() -> str:
    """Path of a Node on PATH that is new enough.

    Raises:
        UsageError: there is none, it does not run, or it is too old.
    """
    wanted = ".".join(map(str, MINIMUM_NODE))
    hint = f"install Node {wanted} or later and put it on PATH"
    node = shutil.which("node")
    if node is None:
        raise UsageError("there is no node on PATH, and genenv's command line runs on it", hint)
    result = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"v(\d+)\.(\d+)", result.stdout)
    if found is None:
        said = (result.stdout or result.stderr).strip()[:200] or "nothing"
        raise UsageError(f"{node} --version exited with {result.returncode} and said {said}", hint)
    if (int(found[1]), int(found[2])) < MINIMUM_NODE:
        raise UsageError(f"{node} is {result.stdout.strip()}; genenv needs {wanted}", hint)
    return node


def find_cli(package: Path) -> Path:
    """The CLI of the npm package whose Python part this file is.

    Raises:
        UsageError: the file stands outside of the package, or the package isn't built.
    """
    if not (package / "package.json").is_file():
        raise UsageError(
            f"{Path(__file__).resolve()} lies outside of the npm package genenv",
            "put the package's py folder on PYTHONPATH, or run: npx genenv run",
        )
    cli = package / "dist" / "sdk" / "cli" / "main.js"
    if not cli.is_file():
        raise UsageError(f"{cli} is not there: genenv isn't built", f"run npm ci in {package}")
    return cli


def to_run_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments of ``genenv run``: the configuration first where Hydra's flags name one.

    Everything else is passed on as it is: overrides, ``--model``, ``--env-model`` and what else
    ``genenv run`` takes; what it does not take, it refuses itself.
    """
    given: dict[str, str] = {}
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        flag, equals, value = argument.partition("=")
        if flag not in _HYDRA:
            rest.append(argument)
            continue
        given[_HYDRA[flag]] = value if equals else _value_of(flag, waiting)
    if not given:
        return rest
    name = given.get("name", _CONFIG_NAME)
    file = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    return [str(Path(given.get("path", _CONFIG_FOLDER)) / file), *rest]


def _value_of(flag: str, arguments: Iterator[str]) -> str:
    value = next(arguments, None)
    if value is None:
        raise UsageError(f"{flag} has no value", f"write {flag} VALUE")
    return value


if __name__ == "__main__":
    main(sys.argv[1:])
