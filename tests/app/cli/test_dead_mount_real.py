"""A directory on a mount that does not answer: one line within seconds, not a command that hangs for ever."""

import os
import sys
from pathlib import Path

import pytest

from tests.app import forked
from tests.needs import one_always
from tests.real.dead_mount import dead_mount

pytestmark = [pytest.mark.real]


@pytest.mark.parametrize(
    "command",
    [
        ("run", "storage", "--yes", "--dir", "/var/tmp"),
        *one_always(("plan", "storage"), ("plan", "null"), ("plan", "iosched"), ("plan", "fstrim")),
    ],
)
def test_a_dead_mount_is_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    place = tmp_path / "dead"
    place.mkdir()
    variables = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    variables["LC_ALL"] = forked.LOCALE
    with dead_mount(place):
        ended = forked.run(
            [sys.executable, "-P", "-m", "hostdx.app.cli", *command, "--dir", str(place)],
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert ended.returncode == 3, ended.stderr
    lines = [line for line in ended.stderr.splitlines() if "does not answer" in line]
    assert len(lines) == 1 and str(place) in lines[0]
    assert "Traceback" not in ended.stderr
