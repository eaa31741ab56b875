"""Builds all that a release consists of in an empty directory, and starts each of it.

    python -m tests.release [-o DIRECTORY]

Each artefact runs `triage`, `null`, the report of demo:storage (the same in all) and the app's first screen; as root an
iosched run of each is killed and undone. What this machine has no program for is said and left out.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from hostdx.app import __version__
from tests import needs
from tests.app.launcher import own_state
from tests.fakes.terminals.terminal import Terminal
from tests.real.iosched_kill import killed_while_switched, left_behind
from tests.real.loop_disk import LoopDisk
from tests.real.polled import happens
from tests.release import own_python
from tests.release.packages import deb, rpm, stage
from tests.syntax import ROOT

NULL = ("run", "null", "--budget", "12", "--size", "64M", "--yes", "--json")
NEWEST = 14  # of Python 3


Startable: TypeAlias = tuple[Path, list[str]]  # an artefact, and the words that start it


def from_source(place: Path) -> Iterator[Startable]:
    python = sys.executable
    _output_of(python, "-m", "hatchling", "build", "-d", str(place), cwd=ROOT)
    [sdist] = place.glob("*.tar.gz")
    [wheel] = place.glob("*.whl")
    for artefact in (wheel, sdist):
        venv = place / f"venv-{artefact.name}"
        _output_of(python, "-m", "venv", str(venv))
        _output_of(str(venv / "bin/pip"), "install", "-q", str(artefact))
        yield artefact, [str(venv / "bin/hostdx")]


def by_tool(place: Path) -> Iterator[Startable]:
    """The wheel as who has uv or pipx installs it."""
    [wheel] = place.glob("hostdx-*.whl")
    for tool in ("uv", "pipx"):
        home = place / tool
        folders = {
            "UV_TOOL_DIR": "tools",
            "UV_TOOL_BIN_DIR": "bin",
            "PIPX_HOME": "tools",
            "PIPX_BIN_DIR": "bin",
        }
        env = {name: str(home / folder) for name, folder in folders.items()}
        words = (
            ["uv", "tool", "install", "-q", "--python"] if tool == "uv" else ["pipx", "install", "--python"]
        )
        if shutil.which(tool) is None or subprocess.run([tool, "--version"], capture_output=True).returncode:
            print(f"left out: {tool} install: there is no {tool} here", flush=True)
            continue
        _output_of(*words, sys.executable, str(wheel), **env)
        yield wheel, [str(home / "bin/hostdx")]


def bundle_starts(place: Path) -> Iterator[Startable]:
    bundle = place / "hostdx.pyz"
    [hostdx] = place.glob("venv-*.whl/bin/hostdx")
    _output_of(str(hostdx), "bundle", "-o", str(bundle))
    for path in (shutil.which(f"python3.{minor}") for minor in range(11, NEWEST + 1)):
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            yield bundle, [path, str(bundle)]


def package_starts(place: Path) -> Iterator[Startable]:
    machine, bundle = os.uname().machine, place / "hostdx.pyz"
    tree = stage(bundle, place / "tree", machine)
    if lacking := own_python.missing_part():
        print(f"left out: the build with a Python of its own: {lacking}", flush=True)
    else:
        folder = own_python.freeze_folder(tree, place)
        (major, minor), file = own_python.newest_glibc(folder)
        print(f"the build with a Python of its own needs glibc {major}.{minor} ({file})", flush=True)
        yield own_python.archive_folder(folder, place, __version__, machine), [str(folder / "hostdx")]
    for kind, needed, unpack in (
        (deb, "dpkg-deb", "dpkg-deb -x {0} {1}"),
        (rpm, "rpmbuild", "cd {1} && rpm2cpio {0} | cpio -idm --quiet"),
    ):
        if shutil.which(needed) is None:
            print(f"left out: the .{kind.__name__}: there is no {needed} here", flush=True)
            continue
        package = kind(tree, place, __version__, machine)  # unpacked here; installed in the tests beside
        root = place / f"root-{kind.__name__}"
        root.mkdir()
        _output_of("sh", "-euc", unpack.format(package, root))
        yield package, [str(root / "usr/bin/hostdx")]


def smoke_test(start: Sequence[str], place: Path) -> tuple[str, list[float]]:
    """The report, and the seconds of three starts. Raises what shows that it does not work."""
    (place / "work").mkdir(parents=True)
    env = {"XDG_CACHE_HOME": str(place / "cache"), **own_state(place)}
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        assert f"hostdx {__version__}" in _output_of(*start, "--version", **env)
        seconds.append(time.perf_counter() - began)
    assert json.loads(_output_of(*start, "triage", "--json", **env))["findings"] is not None
    null = json.loads(_output_of(*start, *NULL, "--dir", str(place / "work"), **env))
    assert null["status"] == "done" and null["verdicts"], null
    terminal = Terminal(list(start), (120, 40), env)
    try:
        terminal.wait("hostdx")
    finally:
        terminal.close()
    if lacking := needs.missing_of(needs.ROOT, needs.LOOP):
        print(f"left out: a killed run: {lacking}", flush=True)
    else:
        with LoopDisk(place) as disk:
            before = disk.queue()
            killed_while_switched(start, os.environ | env, place, disk)
            assert happens(lambda: not left_behind(place, disk, before), 60), left_behind(place, disk, before)
    return _output_of(*start, "report", "demo:storage", "--format", "json", **env), seconds


def _output_of(*argv: str, cwd: Path | None = None, **env: str) -> str:
    done = subprocess.run(
        argv, cwd=cwd, env=os.environ | env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: status {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.release", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("-o", "--output", type=Path, help="an empty directory that keeps what was built")
    output: Path | None = parser.parse_args().output
    os.environ.pop("PYTHONPATH", None)  # what is tried is the artefact, not this tree
    reports = set()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-release-") as folder:
        place = Path(folder)
        for number, (artefact, start) in enumerate(
            chain(from_source(place), by_tool(place), bundle_starts(place), package_starts(place))
        ):
            report, seconds = smoke_test(start, place / f"smoke-{number}")
            reports.add(report)
            first, *others = seconds
            size = artefact.stat().st_size / 1e6
            by = Path(start[0]).name if len(start) > 1 else Path(start[0]).parents[1].name
            print(
                f"{artefact.name:40} {by:12} {size:5.1f} MB, first start {first:.2f} s, then {min(others):.2f} s",
                flush=True,
            )
            if output is not None:
                output.mkdir(parents=True, exist_ok=True)
                for file in (artefact, *place.glob(f"{artefact.name}.*")):
                    shutil.copy2(file, output)
    if len(reports) != 1:
        print(f"the report of demo:storage differs: {len(reports)} of them")
    return int(len(reports) != 1)


if __name__ == "__main__":
    sys.exit(main())
