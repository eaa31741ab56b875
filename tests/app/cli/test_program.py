"""The console script: another package of a short name that is found first is said in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

from app import __version__
from tests.every_case import every_case
from tests.syntax import ROOT


def started(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As a console script does, which has no safe path."""
    code = "import runpy, sys; sys.argv[0] = 'hostdx'; runpy.run_path(sys.argv.pop(1))['main']()"
    argv = [sys.executable, "-P", "-c", code, str(ROOT / "app/cli/program.py"), *arguments]
    return subprocess.run(
        argv, env={**os.environ, "PYTHONPATH": str(place)}, capture_output=True, text=True, cwd=place
    )


@every_case("name", ["app/__init__.py", "app.py", "probes/__init__.py", "scenarios/__init__.py"])
def test_another_package_of_the_name_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    done = started(tmp_path, "--version")
    assert done.returncode == 3 and not done.stdout
    assert len(done.stderr.splitlines()) == 1 and str(tmp_path) in done.stderr


def test_a_mere_folder_of_the_name_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    assert started(tmp_path, "--version").stdout == f"hostdx {__version__}\n"


def test_the_version_for_machines(tmp_path: Path) -> None:
    said = json.loads(started(tmp_path, "--version", "--json").stdout)
    assert said["version"] == __version__ and said["bundle"] is None
    assert said["code"] == str(ROOT) and said["interpreter"] == sys.executable
