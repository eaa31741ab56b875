"""The bundle at work: its children find their code, and a killed run is undone from it."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.app.features.bundle.unpack import STARTED_AS
from tests.app.launcher import own_env
from tests.needs import LOOP, ROOT, needs, one_always
from tests.real.iosched_kill import kill_all, killed_while_switched, left_behind
from tests.real.loop_disk import LoopDisk
from tests.real.polled import happens

pytestmark = [pytest.mark.real]


@pytest.fixture
def place() -> Iterator[Path]:
    """Out of the way of every interpreter's own path, on a disk."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-test-") as folder:
        yield Path(folder)


def _environment(place: Path) -> dict[str, str]:
    """PYTHONPATH leads to another `hostdx`: nobody sees it."""
    other = place / "other/hostdx"
    other.mkdir(parents=True, exist_ok=True)
    (other / "__init__.py").touch()
    return own_env(place) | {"XDG_CACHE_HOME": str(place / "cache"), "PYTHONPATH": str(other.parent)}


def run_bundle(bundle: Path, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(bundle), *arguments],
        env=_environment(place), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd="/",
    )  # fmt: skip


@pytest.mark.soak("a killed run is undone from it")
def test_a_users_command_does_not_inherit_how_it_was_started(bundle: Path, place: Path) -> None:
    env_file = place / "said"
    command = f"sh -c 'env > {env_file}'"
    done = run_bundle(
        bundle,
        place,
        "run",
        "workload",
        "--cmd",
        command,
        "--variant",
        "a:",
        "--variant",
        "b:",
        "--budget",
        "4",
        "--yes",
    )
    names = (
        [line.partition("=")[0] for line in env_file.read_text().splitlines()]
        if env_file.exists()
        else [done.stderr]
    )
    assert "PATH" in names and STARTED_AS not in names


@needs(ROOT, LOOP)
@pytest.mark.parametrize("supervisor_too", one_always(False, True))
def test_a_killed_run_is_undone_from_it(bundle: Path, place: Path, supervisor_too: bool) -> None:
    with LoopDisk(place) as disk:
        before = disk.queue()
        killed_while_switched([sys.executable, str(bundle)], _environment(place), place, disk)
        if supervisor_too:
            kill_all(place)
            run_bundle(bundle, place, "undo")
        assert happens(lambda: not left_behind(place, disk, before), 60), left_behind(place, disk, before)
