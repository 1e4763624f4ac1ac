"""``python -m genenv.train`` becomes ``genenv run``."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from genenv import train

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An npm package with this Python part and an empty CLI."""
    package = tmp_path / "package"
    part = package / "py" / "genenv"
    part.mkdir(parents=True)
    for name in ("__init__.py", "train.py"):
        shutil.copy(ROOT / "py" / "genenv" / name, part)
    cli = package / "dist" / "sdk" / "cli"
    cli.mkdir(parents=True)
    (cli / "main.js").touch()
    (package / "package.json").write_text('{"name": "genenv"}')
    return package


def fake_node(folder: Path, version: str = "v20.19.0", exit_code: int = 0) -> Path:
    """A ``node`` that says its version, or shows what it was started with."""
    folder.mkdir()
    node = folder / "node"
    node.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        "if sys.argv[1:] == ['--version']:\n"
        f"    print({version!r})\n"
        "    sys.exit()\n"
        "print(json.dumps({'arguments': sys.argv[1:], 'pid': os.getpid()}))\n"
        f"sys.exit({exit_code})\n"
    )
    node.chmod(0o755)
    return folder


def run_entry(
    package: Path, path: Path | None, *arguments: str
) -> tuple[subprocess.CompletedProcess[str], int]:
    """The finished process and the id it had."""
    environment = {"PYTHONPATH": str(package / "py"), "PATH": str(path or "")}
    process = subprocess.Popen(
        [sys.executable, "-m", "genenv.train", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = process.communicate(timeout=30)
    finished = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    return finished, process.pid


def test_overrides_and_flags_reach_genenv_run_in_their_order(package: Path, tmp_path: Path) -> None:
    given = ["genenv.enable=False", "+a.b=[1, 2]", "~c.d", "--model", "m", "--env-model", "e"]
    result, pid = run_entry(package, fake_node(tmp_path / "bin"), *given)
    seen = json.loads(result.stdout)
    cli = package / "dist" / "sdk" / "cli" / "main.js"
    assert seen["arguments"] == [str(cli), "run", *given]
    assert seen["pid"] == pid, "Node takes this process's place, so a Ctrl-C reaches it"


def test_no_arguments_are_the_default_run(package: Path, tmp_path: Path) -> None:
    result, _ = run_entry(package, fake_node(tmp_path / "bin"))
    assert json.loads(result.stdout)["arguments"][1:] == ["run"]


def test_the_exit_code_is_the_cli_s(package: Path, tmp_path: Path) -> None:
    result, _ = run_entry(package, fake_node(tmp_path / "bin", exit_code=7))
    assert result.returncode == 7


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--config-name", "mine", "a=1"], ["configs/mine.yaml", "a=1"]),
        (["a=1", "--config-name=mine.yaml"], ["configs/mine.yaml", "a=1"]),
        (["--config-path", "/etc/runs"], ["/etc/runs/genenv_config.yaml"]),
        (["-cp", "runs", "-cn", "mine", "a=1"], ["runs/mine.yaml", "a=1"]),
        (["my.yaml", "a=--config-name"], ["my.yaml", "a=--config-name"]),
    ],
)
def test_hydra_s_flags_name_the_configuration(given: list[str], expected: list[str]) -> None:
    assert train.to_run_arguments(given) == expected


def test_a_flag_without_its_value_is_a_usage_error(package: Path, tmp_path: Path) -> None:
    result, _ = run_entry(package, fake_node(tmp_path / "bin"), "--config-name")
    assert result.returncode == 2
    assert "--config-name has no value" in result.stderr


def test_without_node_the_error_says_what_to_install(package: Path, tmp_path: Path) -> None:
    result, _ = run_entry(package, tmp_path / "nothing")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == (
        "error: there is no node on PATH, and genenv's command line runs on it\n"
        "  next: install Node 20.19 or later and put it on PATH\n"
    )


@pytest.mark.parametrize(
    ("version", "ok"), [("v20.19.0", True), ("v22.1.0", True), ("v20.18.3", False), ("v9.9", False)]
)
def test_the_oldest_node_is_20_19(package: Path, tmp_path: Path, version: str, ok: bool) -> None:
    result, _ = run_entry(package, fake_node(tmp_path / "bin", version))
    assert (result.returncode == 0) is ok
    assert ok or f"node is {version}; genenv needs 20.19" in result.stderr


def test_a_node_that_is_none_is_named_with_what_it_said(package: Path, tmp_path: Path) -> None:
    result, _ = run_entry(package, fake_node(tmp_path / "bin", "an old friend"))
    assert result.returncode == 2
    assert "node --version exited with 0 and said an old friend" in result.stderr


def test_a_package_that_is_not_built_is_named(package: Path, tmp_path: Path) -> None:
    (package / "dist" / "sdk" / "cli" / "main.js").unlink()
    result, _ = run_entry(package, fake_node(tmp_path / "bin"))
    assert result.returncode == 2
    assert f"next: run npm ci in {package}" in result.stderr


def test_a_copy_outside_of_the_package_is_refused(package: Path, tmp_path: Path) -> None:
    (package / "package.json").unlink()
    result, _ = run_entry(package, fake_node(tmp_path / "bin"))
    assert result.returncode == 2
    assert "lies outside of the npm package genenv" in result.stderr


def test_the_oldest_node_is_the_npm_package_s() -> None:
    engines = json.loads((ROOT / "package.json").read_text())["engines"]["node"]
    found = re.fullmatch(r">=(\d+)\.(\d+)", engines)
    assert found is not None
    assert (int(found[1]), int(found[2])) == train.MINIMUM_NODE


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here")
@pytest.mark.skipif(
    not (ROOT / "dist" / "sdk" / "cli" / "main.js").is_file(), reason="the package isn't built"
)
def test_the_real_cli_answers() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "genenv.train", "--help"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "py")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Usage: genenv run" in result.stdout
