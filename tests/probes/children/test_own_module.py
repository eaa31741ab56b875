"""A child of ours runs the code of its parent, wherever that lies and whatever else is called `app`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.syntax import ROOT, modules

ASKS = (
    "from hostdx.probes.children.own_module import own_module; "
    "print(*own_module('hostdx.app.asked', 'a b'), sep='\\n')"
)
ASKED = (
    "import hostdx.app, sys, os; "
    "print(hostdx.app.__file__, sys.flags.isolated, sys.argv[1:], os.environ.get('PYTHONPATH'))"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Somewhere that no interpreter looks by itself."""
    place = tmp_path / "some where"
    shutil.copytree(ROOT / "probes", place / "hostdx/probes", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "hostdx/app").mkdir()
    (place / "hostdx/__init__.py").touch()
    (place / "hostdx/app/__init__.py").touch()
    (place / "hostdx/app/asked.py").write_text(f"if __name__ == '__main__':\n    {ASKED}\n")
    return place


@pytest.mark.parametrize("flags", (["-P", "-S"], ["-I", "-S"]))
def test_a_child_finds_its_parents_code(tree: Path, tmp_path: Path, flags: list[str]) -> None:
    other = tmp_path / "other" / "hostdx/app"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    env = {"PATH": os.environ["PATH"]}
    asks = f"import sys; sys.path.insert(0, {str(tree)!r}); {ASKS}"
    [*argv] = subprocess.run(
        [sys.executable, *flags, "-c", asks], env=env, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    stdout = subprocess.run(
        argv, env=env, cwd=other.parents[1], capture_output=True, text=True, check=True
    ).stdout
    assert stdout.split() == [
        *f"{tree}/hostdx/app/__init__.py".split(),
        str(int("-I" in flags)),
        "['a",
        "b']",
        "None",
    ]


def test_every_starter_asks_it() -> None:
    starters = {
        str(p.relative_to(ROOT))
        for p in modules("app", "scenarios", "probes")
        if "sys.executable" in p.read_text()
    }
    assert starters == {
        "app/features/bundle/unpack.py",  # nothing of ours is there yet
        "app/features/bundle/build.py",  # pip
        "app/features/fleet/launch/agent.py",  # on another node, where nothing of ours is there yet
        "probes/children/own_module.py",
        "probes/reading/hang_safe/client.py",
        "app/terminal/invocation.py",
        "app/cli/__init__.py",
    }
