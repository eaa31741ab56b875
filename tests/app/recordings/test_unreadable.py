"""A recording on a disk that fails: the system opens it and refuses its first byte (EIO), as /proc/self/mem does."""

import os
import shutil
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.recordings import store
from hostdx.app.state import make_private, recordings_dir

FAILS = "/proc/self/mem"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of recordings: one that can be read, and a newer one that cannot."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    folder = make_private(recordings_dir())
    shutil.copy(store.resolve_recording("demo:null"), folder / "a-null.jsonl")
    os.utime(folder / "a-null.jsonl", (1, 1))
    (folder / "b-null.jsonl").symlink_to(FAILS)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("report", FAILS),
        ("report", FAILS, "--format", "json"),
        ("compare", FAILS, "demo:null"),
        ("compare", "demo:null", "--", FAILS),
        ("compare", "--odd", "demo:null", FAILS, "demo:box"),
        ("history", FAILS),
        ("stop", FAILS),
        ("import", FAILS),
        ("run", "box", "--job", FAILS, "--dir", "/tmp"),
        ("triage", "--root", FAILS),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_one_line_and_no_bug(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert run_command_line(words) in (2, 3)
    err = capsys.readouterr().err
    assert len([line for line in err.splitlines() if line.startswith("hostdx: ")]) == 1
    assert not (folder.parent / "bugs").exists()


def test_last_is_the_newest_that_can_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert store.resolve_recording("last") == folder / "a-null.jsonl"
    assert run_command_line(["report", "last"]) == 0
    (folder / "a-null.jsonl").unlink()
    assert run_command_line(["report", "last"]) in (2, 3)
