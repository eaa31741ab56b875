"""A suggested command is one that this terminal can run."""

import sys
from pathlib import Path

import pytest

from hostdx.app.terminal.invocation import command_to_paste
from hostdx.probes.children.environment import STARTED_AS


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "my tools" / "hostdx"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path), "run"])
    return path


def test_started_by_its_path_it_is_suggested_by_its_path(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert command_to_paste("hostdx report last") == f"'{program}' report last"
    assert command_to_paste("sudo hostdx triage") == f"sudo '{program}' triage"
    assert command_to_paste("renice -n 10 -p 1") == "renice -n 10 -p 1"


def test_where_the_shell_finds_it_its_name_is_enough(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(program.parent))
    assert command_to_paste("hostdx report last") == "hostdx report last"
    assert command_to_paste("sudo hostdx triage") == f"sudo '{program}' triage"  # its path is not the user's


def test_a_module_is_suggested_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/app/cli/__main__.py"])
    assert command_to_paste("hostdx report last") == f"{sys.executable} -P -m hostdx.app.cli report last"


@pytest.mark.parametrize(("mode", "first"), [(0o755, ""), (0o644, f"{sys.executable} ")])
def test_the_bundle_is_suggested_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, first: str
) -> None:
    bundle = tmp_path / "hostdx.pyz"
    bundle.touch()
    bundle.chmod(mode)
    monkeypatch.setenv(STARTED_AS, str(bundle))
    assert command_to_paste("hostdx report last") == f"{first}{bundle} report last"
    assert command_to_paste("sudo hostdx triage") == f"sudo {first}{bundle} triage"
