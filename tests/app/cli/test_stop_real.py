"""`hostdx stop` on a run of one's own, and on everything that is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.recordings import store
from hostdx.app.state import recordings_dir

HOSTDX = [sys.executable, "-P", "-m", "hostdx.app.cli"]


def test_nothing_under_way_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run_command_line(["stop"]) == 3
    assert capsys.readouterr().err.count("\n") == 1
    assert run_command_line(["stop", "demo:null"]) == 3


@pytest.mark.real
def test_a_run_is_stopped_with_its_end_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        folder = tmp_path / name
        folder.mkdir(mode=0o700)
        monkeypatch.setenv(name, str(folder))
    run = subprocess.Popen(
        [*HOSTDX, "run", "dstate", "--seconds", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        assert run.stderr is not None
        run.stderr.readline()  # it has begun to record
        assert [entry.state for entry in store.list_recordings()] == ["running"], list(
            recordings_dir().iterdir()
        )
        assert run_command_line(["stop"]) == 0
        assert run.wait(30) == 130
        assert [entry.state for entry in store.list_recordings()] == ["interrupted"]
    finally:
        run.kill()
        run.communicate()
