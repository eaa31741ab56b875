"""`--version --json`: what an inventory or a bug report asks for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hostdx.app import __version__
from tests.app import forked, launcher
from tests.syntax import ROOT


def test_the_version_for_machines(tmp_path: Path) -> None:
    done = forked.run(
        [sys.executable, "-P", "-m", "hostdx.app.cli", "--version", "--json"],
        env=launcher.own_env(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    loads = json.loads(done.stdout)
    assert loads["version"] == __version__ and loads["bundle"] is None
    assert loads["code"] == str(ROOT) and loads["interpreter"] == sys.executable
