"""The snapshot of veRL's keys that the TypeScript side checks configurations against."""

import importlib.util
from pathlib import Path
from types import ModuleType

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "verl-keys.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verl_keys", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_snapshot_is_what_the_installed_verl_has() -> None:
    script = load_script()
    assert script.SNAPSHOT.read_text() == script.render(), "run: python scripts/verl-keys.py"


def test_an_empty_mapping_is_a_leaf_and_others_are_walked() -> None:
    script = load_script()
    tree = {"a": {"b": 1, "free": {}}, "c": None}
    assert script.leaves(tree) == [("a.b", 1), ("a.free", {}), ("c", None)]
