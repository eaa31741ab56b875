"""The RPM package in a root of its own, installed, started, upgraded, removed. Without its scripts."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.app.launcher import own_env
from tests.needs import ROOT, needs, program
from tests.release.packages import MAN, RECIPES, RECORDER, SHELLS, TMPFILES, UNITS, rpm, stage

pytestmark = [
    pytest.mark.real,
    pytest.mark.soak("what a bundle holds and starts"),
    needs(ROOT, program("rpmbuild", "rpm")),
]


def files(root: Path) -> set[str]:
    paths = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
    return {path for path in paths if not path.startswith(("var/", "usr/lib/sysimage/", "root/"))}


def drop_most_files(tree: Path) -> None:
    """As a version of few files: made in a tenth of the time, and what it has no longer is to go."""
    for path in (tree / "usr/lib/hostdx").iterdir():
        if path.name != "probes":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_installed_upgraded_and_removed(bundle: Path, tmp_path: Path) -> None:
    machine, root = os.uname().machine, tmp_path / "root"
    root.mkdir()
    tree = stage(bundle, tmp_path / "tree", machine)
    first = rpm(tree, tmp_path, "0.0.1", machine)
    drop_most_files(tree)
    second = rpm(tree, tmp_path, "0.0.2", machine)
    rpm_alone = ["rpm", f"--root={root}", "--noscripts", "--nodeps"]
    subprocess.run([*rpm_alone, "--install", str(first)], check=True)
    assert {"usr/bin/hostdx", "etc/hostdx/README", MAN, *SHELLS.values()} <= files(root)
    assert {TMPFILES, f"{UNITS}/hostdx-watch.timer", f"{UNITS}/{RECORDER}"} <= files(root)
    assert not (root / "etc/systemd").exists()
    if any(Path(f"/usr/bin/python3.{minor}").exists() for minor in range(11, 15)):
        argv = [str(root / "usr/bin/hostdx"), "--version", "--json"]
        done = subprocess.run(argv, env=own_env(tmp_path), capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["code"] == str(root / "usr/lib/hostdx/hostdx")
    (root / "etc/hostdx/README").write_text("the site's own")
    subprocess.run([*rpm_alone, "--upgrade", str(second)], check=True)
    rest = {path for path in files(root) if path.startswith("usr/lib/hostdx/") and not path.endswith(".pyc")}
    assert rest == {str(p.relative_to(tree)) for p in (tree / "usr/lib/hostdx").rglob("*") if p.is_file()}
    assert (root / "etc/hostdx/README").read_text() == "the site's own"
    subprocess.run([*rpm_alone, "--erase", "hostdx"], check=True)
    remains = {path for path in files(root) if not path.endswith(".pyc")}
    assert remains == {"etc/hostdx/README.rpmsave"}
    shutil.rmtree(root)


@needs(program("rpmlint"))
def test_rpmlint_has_nothing_to_say_that_is_not_excused(bundle: Path, tmp_path: Path) -> None:
    path = rpm(stage(bundle, tmp_path / "tree", os.uname().machine), tmp_path, "0.0.1", os.uname().machine)
    argv = ["rpmlint", "-c", str(RECIPES / "rpmlint.toml"), str(path)]
    rpmlint = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert rpmlint.returncode == 0 and not [
        line for line in rpmlint.stdout.splitlines() if line.startswith("hostdx")
    ]
