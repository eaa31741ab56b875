"""The Debian package in a root of its own: installed, used, upgraded, removed and purged."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.launcher import own_env
from tests.needs import ROOT, needs, not_here, program
from tests.release.packages import MAN, RECORDER, SHELLS, TMPFILES, UNITS, VENDORS, deb, stage

pytestmark = [pytest.mark.real, pytest.mark.soak("what a bundle holds and starts")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty machine, as far as dpkg can tell."""
    for folder in ("updates", "info", "triggers"):
        (tmp_path / "root/var/lib/dpkg" / folder).mkdir(parents=True)
    for file in ("status", "available"):
        (tmp_path / "root/var/lib/dpkg" / file).touch()
    return tmp_path / "root"


def run_dpkg(root: Path, *words: str) -> None:
    forced = ("--force-script-chrootless", "--force-depends", "--force-confold")
    done = subprocess.run(
        ["dpkg", f"--root={root}", *forced, *words], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, env=os.environ | {"LC_ALL": "C"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def files(root: Path) -> set[str]:
    paths = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() or p.is_symlink()}
    return {path for path in paths if not path.startswith("var/lib/dpkg/")}


@needs(ROOT, program("dpkg", "dpkg-deb", "find"))
def test_installed_upgraded_removed_and_purged(bundle: Path, root: Path, tmp_path: Path) -> None:
    python = f"/usr/bin/python3.{sys.version_info[1]}"
    newer = [f"/usr/bin/python3.{minor}" for minor in range(sys.version_info[1] + 1, 15)]
    if not Path(python).exists() or any(Path(path).exists() for path in newer):
        not_here(f"the package starts the newest Python of /usr/bin, and that is not {python}")
    machine = os.uname().machine
    tree = stage(bundle, tmp_path / "tree", machine)
    first, second = (deb(tree, tmp_path, version, machine) for version in ("0.0.1", "0.0.2"))
    rebuilt = tmp_path / "again"
    rebuilt.mkdir()
    assert deb(tree, rebuilt, "0.0.1", machine).read_bytes() == first.read_bytes()
    run_dpkg(root, "--install", str(first))
    assert {"usr/bin/hostdx", "etc/hostdx/README", MAN, SHELLS["bash"], SHELLS["fish"], VENDORS} <= files(
        root
    )
    assert any(path.endswith(".pyc") for path in files(root))
    units = {f"{UNITS}/{name}" for name in ("hostdx-watch.timer", "hostdx-watch.service", RECORDER)}
    assert {TMPFILES, *units} <= files(root)
    assert not (root / "etc/systemd").exists()  # the timer is off
    assert "ExecStart=/usr/bin/hostdx watch --night" in (root / UNITS / "hostdx-watch.service").read_text()
    assert "ExecStart=/usr/bin/hostdx watch --incidents\n" in (root / UNITS / RECORDER).read_text()
    hostdx = str(root / "usr/bin/hostdx")
    stdout = subprocess.run(
        [hostdx, "--version", "--json"], env=own_env(tmp_path), capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(stdout)["code"] == str(root / "usr/lib/hostdx/hostdx")
    triaged = subprocess.run(
        [hostdx, "triage", "--json"], env=own_env(tmp_path), capture_output=True, text=True, check=True
    )
    assert json.loads(triaged.stdout)["findings"] is not None
    (root / "etc/hostdx/README").write_text("the site's own")
    (root / "etc/hostdx/knowledge.d/site.toml").touch()
    run_dpkg(root, "--install", str(second))
    assert (root / "etc/hostdx/README").read_text() == "the site's own"
    journal = root / "var/lib/hostdx/journal"
    journal.mkdir(parents=True)
    run_dpkg(root, "--remove", "hostdx")
    assert files(root) == {"etc/hostdx/README", "etc/hostdx/knowledge.d/site.toml"}
    run_dpkg(root, "--purge", "hostdx")
    assert files(root) == {"etc/hostdx/knowledge.d/site.toml"} and not journal.exists()


@needs(program("dpkg-deb", "lintian"))
def test_lintian_has_nothing_to_say_that_is_not_excused(bundle: Path, tmp_path: Path) -> None:
    path = deb(stage(bundle, tmp_path / "tree", os.uname().machine), tmp_path, "0.0.1", os.uname().machine)
    lintian = subprocess.run(
        ["lintian", "--allow-root", "--no-tag-display-limit", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert lintian.stdout == ""


@needs(ROOT, program("dpkg", "dpkg-deb", "find"))
def test_purged_it_keeps_what_is_to_be_undone(bundle: Path, root: Path, tmp_path: Path) -> None:
    machine = os.uname().machine
    tree = stage(bundle, tmp_path / "tree", machine)
    shutil.rmtree(tree / "usr/lib/hostdx")  # nothing is started
    (tree / "usr/lib/hostdx").mkdir()
    run_dpkg(root, "--install", str(deb(tree, tmp_path, "0.0.1", machine)))
    journal = root / "var/lib/hostdx/journal/one.jsonl"
    journal.parent.mkdir(parents=True)
    journal.touch()
    run_dpkg(root, "--purge", "hostdx")
    assert journal.exists()
